# A TLS echo server and a stdin/stdout TLS client over Perl's IO::Socket::SSL. The command line is
# described in src/programs/driver.rs.

use strict;
use warnings;

use Getopt::Long;
use IO::Select;
use IO::Socket::INET;
use IO::Socket::SSL;

$| = 1;
my %CURVES = (x25519 => 'X25519', secp256r1 => 'P-256', secp384r1 => 'P-384', secp521r1 => 'P-521');
my $WORDS = "0123\n";

my $command = shift @ARGV // '';
my %options = (connections => 1);
GetOptions(\%options, map { "$_=s" } qw(
    port name ca client-ca cert key version suite group feature connections
)) or exit 2;
if ($command eq 'abilities') { abilities() }
elsif ($command eq 'serve') { serve() }
elsif ($command eq 'connect') { connect_all() }
else { die "say abilities, serve or connect\n" }

sub abilities {
    my $resumption = 'resume-1.2-ticket resume-1.2-id resume-1.3-stateless resume-1.3-stateful';
    print "as-client $resumption\nas-server $resumption\n";
    print "keys rsa2048 p256 p384 p521 ed25519\n";
    print "groups x25519 secp256r1 secp384r1 secp521r1\n";
    print "limits group suite1.2 suite1.3\n";
}

sub serve {
    my $listener = IO::Socket::INET->new(
        LocalAddr => '127.0.0.1', LocalPort => $options{port}, Listen => 5, ReuseAddr => 1,
    ) or die "cannot listen: $!\n";
    my $context = IO::Socket::SSL::SSL_Context->new(
        shared(), SSL_server => 1, SSL_session_id_context => 'interop', client_auth(),
    ) or die "$SSL_ERROR\n";
    while (1) {
        my $connection = $listener->accept or die "cannot accept: $!\n";
        if (!IO::Socket::SSL->start_SSL($connection, SSL_server => 1, SSL_reuse_ctx => $context)) {
            print STDERR "$SSL_ERROR\n";
            next;
        }
        tell_of($connection);
        while (sysread $connection, my $data, 16384) {
            last unless write_all($connection, $data);
        }
        close $connection;
    }
}

sub client_auth {
    return () unless $options{'client-ca'};
    return (
        SSL_verify_mode => SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
        SSL_ca_file => $options{'client-ca'},
    );
}

sub connect_all {
    # A context that is destroyed takes its sessions with it, so all connections share one.
    my $context = IO::Socket::SSL::SSL_Context->new(
        shared(), SSL_verify_mode => SSL_VERIFY_PEER, SSL_ca_file => $options{ca},
        SSL_session_cache => IO::Socket::SSL::Session_Cache->new(16),
    ) or die "$SSL_ERROR\n";
    for (2 .. $options{connections}) {
        my $connection = connected($context);
        write_all($connection, $WORDS) or die "$SSL_ERROR\n";
        my $heard = '';
        while (length $heard < length $WORDS) {
            sysread($connection, $heard, 64, length $heard) or die "the server ended first\n";
        }
        print $heard;
        close $connection;
    }
    carry(connected($context));
}

sub connected {
    my ($context) = @_;
    my $connection = IO::Socket::SSL->new(
        PeerAddr => '127.0.0.1', PeerPort => $options{port}, SSL_reuse_ctx => $context,
        SSL_verifycn_scheme => 'http', SSL_verifycn_name => $options{name},
        SSL_hostname => $options{name} eq '127.0.0.1' ? '' : $options{name},
        SSL_session_key => 'server',
    ) or die "$SSL_ERROR\n";
    tell_of($connection);
    return $connection;
}

sub carry {
    my ($connection) = @_;
    $connection->blocking(0);
    my $readers = IO::Select->new($connection, \*STDIN);
    while (1) {
        # The system cannot report data that OpenSSL has already read and buffered.
        my @ready = $connection->pending ? ($connection) : $readers->can_read;
        for my $from (@ready) {
            my $count = sysread $from, my $data, 16384;
            if ($from == $connection) {
                next if !defined $count && $SSL_ERROR == SSL_WANT_READ;
                die "the server ended first\n" unless $count;
                print $data;
            } elsif ($count) {
                write_all($connection, $data) or die "$SSL_ERROR\n";
            } else {
                close $connection;
                return;
            }
        }
    }
}

sub write_all {
    my ($connection, $data) = @_;
    my $sent = 0;
    while ($sent < length $data) {
        my $count = syswrite $connection, $data, length($data) - $sent, $sent;
        if (defined $count) {
            $sent += $count;
        } elsif ($SSL_ERROR == SSL_WANT_WRITE || $SSL_ERROR == SSL_WANT_READ) {
            IO::Select->new($connection)->can_write;
        } else {
            return 0;
        }
    }
    return 1;
}

sub tell_of {
    my ($connection) = @_;
    print STDERR 'resumed ', $connection->get_session_reused ? 'yes' : 'no', "\n";
}

sub shared {
    my %shared = (SSL_version => 'SSLv23:!SSLv3:!SSLv2:!TLSv1:!TLSv1_1');
    $shared{SSL_version} = "TLSv1_$1" if ($options{version} // '') =~ /^1[.](\d)$/;
    my $suite = $options{suite} // '';
    $shared{$suite =~ /_WITH_/ ? 'SSL_cipher_list' : 'SSL_ciphersuites'} = openssl_name($suite) if $suite;
    $shared{SSL_ecdh_curve} = $CURVES{$options{group}} if $options{group};
    if (($options{feature} // '') =~ /^resume-(1.2-id|1.3-stateful)$/) {
        $shared{SSL_create_ctx_callback} = sub {
            Net::SSLeay::CTX_set_options($_[0], Net::SSLeay::OP_NO_TICKET());
        };
    }
    @shared{qw(SSL_cert_file SSL_key_file)} = @options{qw(cert key)} if $options{cert};
    return %shared;
}

# TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 -> ECDHE-RSA-AES128-GCM-SHA256; names of TLS 1.3 suites do not change.
sub openssl_name {
    my ($name) = @_;
    return $name unless $name =~ /_WITH_/;
    $name =~ s/^TLS_//;
    $name =~ s/_WITH_/_/;
    $name =~ s/AES_/AES/;
    $name =~ s/POLY1305_SHA256/POLY1305/;
    $name =~ tr/_/-/;
    return $name;
}

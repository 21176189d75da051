#!/usr/bin/env bash
# Prints a port of 127.0.0.1 that the system gives to nothing else for a minute, for a server that cannot choose its own.
# usage: tools/free-port.sh
#
# A connection to the port was closed on the server's side, and keeps the port for that time. Servers can listen there,
# because they set SO_REUSEADDR.
set -euo pipefail

exec perl -MIO::Socket::INET -e '
    my $listener = IO::Socket::INET->new(LocalAddr => "127.0.0.1", LocalPort => 0, Listen => 1, ReuseAddr => 1)
        or die "no port: $@\n";
    my $client = IO::Socket::INET->new(PeerAddr => "127.0.0.1", PeerPort => $listener->sockport)
        or die "no connection: $@\n";
    my $server = $listener->accept or die "no connection: $!\n";
    close $server;
    # The end of the connection arrives.
    sysread $client, my $nothing, 1;
    close $client;
    print $listener->sockport, "\n";
'

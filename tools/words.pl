# Finds dialect words and long lines in the prose of source files. Called by tools/words.sh.
# usage: perl tools/words.pl LIST ROOT < FILES
# LIST holds lines `PATTERN => HINT`. FILES are paths below ROOT, one per line.
# Prints `file:line: text [rule: hint]` for each finding.
use strict;
use warnings;
use open qw(:std :encoding(UTF-8));

my $RUST_COLUMNS = 100;
my $MARKDOWN_COLUMNS = 120;
my $ARCHITECTURE_WORDS = 1000;
my $PERFORMANCE_BYTES = 8192;

my ($list, $root) = @ARGV;
my @rules;
open(my $in, '<', $list) or die "$list: $!\n";
while (<$in>) {
    chomp;
    next if /^\s*(#|$)/;
    my ($pattern, $hint) = /^(.*\S)\s+=>\s+(.*)$/ or die "$list:$.: no `PATTERN => HINT`\n";
    # A phrase may be broken at the end of a line, but not by code or an empty line.
    $pattern =~ s/ /(?: |\\n)/g;
    push @rules, [qr/$pattern/im, $hint];
}
close $in;

# Comments and string literals of Rust source: a list of [offset, kind, text].
sub rust_tokens {
    my ($source) = @_;
    my @tokens;
    pos($source) = 0;
    while (pos($source) < length $source) {
        my $start = pos $source;
        if ($source =~ m{\G//[^\n]*}gc) {
            push @tokens, [$start, 'comment', substr($source, $start, pos($source) - $start)];
        } elsif ($source =~ m{\G/\*}gc) {
            my $depth = 1;
            while ($depth && $source =~ m{\G.*?(/\*|\*/|\z)}gcs) {
                last if $1 eq '';
                $depth += $1 eq '/*' ? 1 : -1;
            }
            push @tokens, [$start, 'comment', substr($source, $start, pos($source) - $start)];
        } elsif ($source =~ m{\G[bc]?r(#*)"}gc) {
            my $hashes = $1;
            $source =~ m{\G.*?"$hashes}gcs or pos($source) = length $source;
            push @tokens, [$start, 'string', substr($source, $start, pos($source) - $start)];
        } elsif ($source =~ m{\G[bc]?"}gc) {
            $source =~ m{\G(?:[^"\\]|\\.)*"}gcs or pos($source) = length $source;
            push @tokens, [$start, 'string', substr($source, $start, pos($source) - $start)];
        } elsif ($source =~ m{\Gb?'(?:[^'\\\n]|\\[^\n]+?)'}gc) {
            # This is a character literal. A lifetime has no closing quote and is code.
        } elsif ($source =~ m{\G\w+}gc) {
        } else {
            pos($source) = $start + 1;
        }
    }
    return @tokens;
}

# Prose of a file: for each line its text without markers, or an empty string. Comments and
# strings are kept apart, so that no phrase is found across both.
sub prose {
    my ($name, $source, @lines) = @_;
    my (@comments, @strings);
    if ($name =~ /\.rs$/) {
        for my $token (rust_tokens($source)) {
            my ($offset, $kind, $text) = @$token;
            my $line = (substr($source, 0, $offset) =~ tr/\n//);
            # A string without a space is a name or a value, and placeholders are code.
            next if $kind eq 'string' && $text !~ /[^\s] [^\s]/;
            $text =~ s/\{[^{}\n]*\}/{}/g if $kind eq 'string';
            for my $part (split /\n/, $text) {
                if ($kind eq 'comment') {
                    $part =~ s{^\s*(?://[/!]?|/\*+!?|\*(?!/))\s*}{};
                    $comments[$line] = $part;
                } else {
                    $part =~ s/^\s+|\s*\\$//g;
                    $strings[$line] = defined $strings[$line] ? "$strings[$line] | $part" : $part;
                }
                $line++;
            }
        }
    } elsif ($name =~ /\.md$/) {
        for my $line (0 .. $#lines) {
            ($comments[$line] = $lines[$line]) =~ s/^\s*(?:[-*>]\s+)?//;
        }
    } else {
        for my $line (0 .. $#lines) {
            next if $line == 0 && $lines[$line] =~ /^#!/;
            next unless $lines[$line] =~ /^(.*?)(?:^|\s)#+\s(.*)$/;
            my ($before, $text) = ($1, $2);
            next if ($before =~ tr/"//) % 2 || ($before =~ tr/'//) % 2;
            $comments[$line] = $text;
        }
    }
    for my $text (@comments) {
        # Code in backticks is not prose, and neither is the target of a link.
        $text =~ s/`[^`]*`/`_`/g if defined $text;
        $text =~ s/\]\([^)]*\)/]/g if defined $text;
    }
    return map { my $all = $_; [map { defined $all->[$_] ? $all->[$_] : '' } 0 .. $#lines] }
        (\@comments, \@strings);
}

my %counts;
sub report {
    my ($file, $line, $text, $rule, $hint) = @_;
    $text =~ s/^\s+//;
    print "$file:$line: $text [$rule: $hint]\n";
}

sub check {
    my ($file) = @_;
    open(my $in, '<', "$root/$file") or die "$file: $!\n";
    local $/;
    my $source = <$in>;
    close $in;
    my @lines = split /\n/, $source;

    for my $prose (prose($file, $source, @lines)) {
        my $text = join "\n", @$prose;
        for my $rule (@rules) {
            my ($pattern, $hint) = @$rule;
            while ($text =~ /$pattern/g) {
                my $line = (substr($text, 0, $-[0]) =~ tr/\n//);
                my $found = substr($text, $-[0], $+[0] - $-[0]) =~ s/\n/ /r;
                report($file, $line + 1, $lines[$line], "\"$found\"", $hint);
            }
        }
        last if $file !~ /\.rs$/;
    }

    if ($file =~ /\.rs$/) {
        my ($comments) = prose($file, $source, @lines);
        for my $line (0 .. $#lines) {
            next if $comments->[$line] eq '' || length $lines[$line] <= $RUST_COLUMNS;
            next if $comments->[$line] =~ m{^\S*https?://\S+$};
            report($file, $line + 1, $lines[$line], 'length', "over $RUST_COLUMNS columns");
        }
    }
    if ($file =~ /\.md$/) {
        my $wide = '';
        for my $line (0 .. $#lines) {
            my $text = $lines[$line];
            # `<!-- wide table: REASON -->` admits long rows up to the next empty line.
            if ($text =~ /^<!-- wide table: \S.* -->$/) { $wide = 1; next }
            $wide = '' if $text eq '' && $wide eq 2;
            $wide = 2 if $wide && $text =~ /^\|/;
            next if $wide && $text =~ /^\|/;
            $text =~ s/\]\([^)]*\)/]/g;
            next if length $text <= $MARKDOWN_COLUMNS || $text =~ m{^\W*https?://\S+$};
            report($file, $line + 1, $lines[$line], 'length', "over $MARKDOWN_COLUMNS columns");
        }
    }
    if ($file =~ /\.md$/) {
        my ($folder) = $file =~ m{^(.*/)?[^/]*$};
        for my $line (0 .. $#lines) {
            for my $target ($lines[$line] =~ /\]\(([^)\s#]+)[^)]*\)|^\[[^\]]+\]:\s+([^\s#]+)/g) {
                next if !defined $target || $target =~ /:/ || -e "$root/" . ($folder // '') . $target;
                report($file, $line + 1, $lines[$line], 'link', "$target does not exist");
            }
        }
    }
    if ($file eq 'ARCHITECTURE.md') {
        my $words = () = $source =~ /\S+/g;
        report($file, 1, "$words words", 'size', "over $ARCHITECTURE_WORDS words")
            if $words > $ARCHITECTURE_WORDS;
    }
    if ($file eq 'PERFORMANCE.md') {
        my $bytes = -s "$root/$file";
        report($file, 1, "$bytes bytes", 'size', "over $PERFORMANCE_BYTES bytes")
            if $bytes > $PERFORMANCE_BYTES;
    }
}

while (my $file = <STDIN>) {
    chomp $file;
    check($file);
}

# Hashes, regular expressions and a sort.
use strict;
use warnings;
my %count;
while (<>) {
  next unless /^([a-z]+) (\d+)/;
  $count{length $1} += $2;
}
print "$_ $count{$_}\n" for sort { $a <=> $b } keys %count;

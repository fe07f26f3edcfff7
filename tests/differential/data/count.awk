{ count[substr($1, 1, 1)] += $2; lines++ }
END {
  for (i = 97; i < 123; i++) {
    letter = sprintf("%c", i)
    if (letter in count) print letter, count[letter]
  }
  print lines
}

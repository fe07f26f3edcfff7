# Children, pipes, subshells and a here-document.
sort "$1" | head -n 40 | while read -r word number; do
  if [ $((number % 7)) -eq 0 ]; then echo "$word"; fi
done | wc -l
result=$(echo one two three | tr ' ' '\n' | grep -c t)
(cd / && echo "$result in $(pwd)")
cat <<END
done
END

# A script with children that end differently, some in the background.
true && echo true
false || echo false
sh -c 'exit 5'
echo "status $?"
sleep 0.01 &
wait
echo "$(basename /a/b/c)" | cat | cat

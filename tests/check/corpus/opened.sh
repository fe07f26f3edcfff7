# Builds opened.cc, the file that is given, as three that lie in the current folder.
set -e
g++ -O1 -fPIC -shared -DDEPENDENCY "$1" -o libdependency.so
g++ -O1 -fPIC -shared -DOPENED "$1" -o libopened.so -L. -ldependency -Wl,-rpath,'$ORIGIN'
g++ -O1 "$1" -o x

// Loads plugin.go, whose functions call back, throw and run in other goroutines.
package main

import (
	"fmt"
	"os"
	"plugin"
)

func main() {
	p, err := plugin.Open(os.Args[1])
	if err != nil {
		panic(err)
	}
	symbol, _ := p.Lookup("Call")
	call := symbol.(func(func(int) int) int)
	thrown := 0
	fmt.Println(call(func(x int) int {
		defer func() { recover(); thrown++ }()
		panic(x)
	}), thrown)
	done := make(chan int)
	go func() { done <- call(func(x int) int { return x }) }()
	fmt.Println(<-done)
	five, _ := p.Lookup("Five")
	fmt.Println(five.(interface{ Add(int) int }).Add(2))
}

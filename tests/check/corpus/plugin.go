package main

import "fmt"

type Summand struct{ n int }

func (s Summand) Add(x int) (sum int) {
	defer func() {
		if recover() != nil {
			sum = -1
		}
	}()
	if x > 2 {
		panic(fmt.Sprint(x))
	}
	return s.n + x
}

var Five = Summand{5}

func Call(f func(int) int) int { return f(3) + Five.Add(1) + Five.Add(7) }

func main() {}

// Finalizers, reflection, nil dereferences recovered, deep recursion (stacks that grow and shrink), preemption, Goexit, timers.
package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"reflect"
	"runtime"
	"sync"
	"time"
)

type Shape interface{ Area(k int) int }
type Square struct {
	n   int
	pad *Square
}

func (s *Square) Area(k int) int { return s.n * s.n * k }

func deep(n int, a [64]byte) int {
	if n == 0 {
		return int(a[0])
	}
	a[0]++
	return deep(n-1, a) + 1
}

func nilled(s *Square) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("recovered: %w", r.(error))
		}
	}()
	return fmt.Errorf("%d", s.n)
}

func generic[T int | float64](list ...T) (sum T) {
	for _, v := range list {
		sum += v
	}
	return
}

func main() {
	var re runtime.Error
	fmt.Println(errors.As(nilled(nil), &re))
	m := reflect.ValueOf(&Square{n: 3}).MethodByName("Area")
	fmt.Println(m.Call([]reflect.Value{reflect.ValueOf(2)})[0].Int())
	swap := reflect.MakeFunc(reflect.TypeOf(func(int, int) int { return 0 }), func(a []reflect.Value) []reflect.Value { return a[1:] })
	fmt.Println(swap.Interface().(func(int, int) int)(1, 2))
	fmt.Println(deep(20000, [64]byte{}), generic(1, 2, 3), generic(1.5, 2.0))
	var wg sync.WaitGroup
	stop := false
	for i := 0; i < 4; i++ {
		wg.Add(1)
		go func(i int) {
			defer wg.Done()
			if i == 2 {
				defer func() { recover() }()
				runtime.Goexit()
			}
			for x := 0; x < 30000000 && !stop; x++ {
			}
		}(i)
	}
	fin := make(chan bool, 10)
	func() {
		s := &Square{n: 4}
		runtime.SetFinalizer(s, func(*Square) { fin <- true })
	}()
	runtime.GC()
	<-fin
	stop = true
	wg.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond)
	defer cancel()
	<-ctx.Done()
	out, _ := exec.Command("echo", "child").Output()
	fmt.Print(string(out))
	func() {
		defer func() { fmt.Println(recover()) }()
		defer func() { panic("second") }()
		panic("first")
	}()
	var f func(int) int
	f = func(n int) int {
		if n < 2 {
			return n
		}
		return f(n-1) + f(n-2)
	}
	fmt.Println(f(15))
}

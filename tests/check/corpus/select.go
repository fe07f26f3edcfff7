// Select, timers, cgo-free callbacks, panics across goroutines, runtime.Goexit, finalizers, signals, reflect, plugins of maps.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"reflect"
	"runtime"
	"sort"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

type shape interface{ area() float64 }
type square struct{ s float64 }

func (q square) area() float64 { return q.s * q.s }

func grow(n int) int {
	var pad [512]byte
	pad[n%512] = 1
	if n == 0 {
		return 0
	}
	return grow(n-1) + int(pad[n%512])
}

func guarded(f func()) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("recovered: %v", r)
		}
	}()
	f()
	return nil
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second) // never waited for
	defer cancel()
	c := make(chan int)
	var wg sync.WaitGroup
	var sum atomic.Int64
	for i := 0; i < 8; i++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for {
				select {
				case v := <-c:
					sum.Add(int64(grow(v)))
				case <-ctx.Done():
					return
				}
			}
		}()
	}
	for i := 0; i < 50; i++ {
		c <- i * 10
	}
	cancel()
	wg.Wait()
	fmt.Println(sum.Load())
	var p *square
	fmt.Println(guarded(func() { fmt.Println(p.s) }), guarded(func() { panic(errors.New("x")) }))
	fmt.Println(guarded(func() { defer func() { panic("second") }(); panic("first") }))
	done := make(chan bool)
	go func() { defer close(done); runtime.Goexit() }()
	<-done
	s := make(chan os.Signal, 1)
	signal.Notify(s, syscall.SIGUSR1)
	syscall.Kill(os.Getpid(), syscall.SIGUSR1)
	fmt.Println(<-s)
	m := reflect.ValueOf(square{3}).MethodByName("String")
	fmt.Println(m.IsValid(), reflect.MakeFunc(reflect.TypeOf(grow), func(a []reflect.Value) []reflect.Value { return a }).Call([]reflect.Value{reflect.ValueOf(4)})[0])
	var sh shape = square{2}
	f := sh.area
	fmt.Println(f())
	words := []string{"c", "a", "b"}
	sort.Slice(words, func(i, j int) bool { return words[i] < words[j] })
	out, err := exec.Command("echo", "child").Output()
	fmt.Println(words, string(out), err)
	runtime.SetFinalizer(&square{1}, func(*square) {})
	runtime.GC()
	var once sync.Once
	once.Do(func() { time.AfterFunc(time.Millisecond, func() {}) })
	pool := sync.Pool{New: func() any { return 1 }}
	fmt.Println(pool.Get(), runtime.NumGoroutine() > 0)
}

def deep(n) { if (n == 0) throw new IllegalStateException("deep"); deep(n - 1) + 1 }
try { deep(50) } catch (IllegalStateException e) { println e.message }
println((1..10).collect { it * it }.sum())
class A { def methodMissing(String name, args) { name } }
println new A().anything()

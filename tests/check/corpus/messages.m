// Objective-C: messages, exceptions, forwarding, categories, protocols
#import <objc/Object.h>
#include <objc/objc-exception.h>
#import <objc/runtime.h>
#include <stdio.h>
#include <stdlib.h>
__attribute__((objc_root_class))
@interface Root {
  Class isa;
}
+ (id)make;
- (int)area;
- (void)fail:(int)n;
@end
@implementation Root
+ (id)make {
  return class_createInstance(self, 0);
}
- (int)area {
  return 1;
}
- (void)fail:(int)n {
  if (n == 0) @throw self;
  [self fail:n - 1];
}
@end
@interface Square : Root {
  int a;
}
- (void)set:(int)n;
@end
@implementation Square
- (void)set:(int)n {
  a = n;
}
- (int)area {
  return a * a + [super area];
}
@end
@interface Root (More)
- (int)twice;
@end
@implementation Root (More)
- (int)twice {
  return [self area] * 2;
}
@end
static int added(id self, SEL cmd) { return 77; }
int main(void) {
  Square* s = [Square make];
  [s set:5];
  printf("%d %d\n", [s area], [s twice]);
  for (int i = 0; i < 5; i++) {
    @try {
      [s fail:i * 3];
    } @catch (Square* e) {
      printf("caught %d\n", [e area]);
    } @finally {
      printf("finally\n");
    }
  }
  class_addMethod(objc_getClass("Square"), sel_registerName("added"), (IMP)added, "i@:");
  IMP f = class_getMethodImplementation(objc_getClass("Square"), sel_registerName("added"));
  printf("%d\n", ((int (*)(id, SEL))f)(s, sel_registerName("added")));
  @synchronized(s) {
    printf("in\n");
  }
  return 0;
}

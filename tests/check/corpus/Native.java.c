#include <jni.h>
#include <stdlib.h>
JNIEXPORT jint JNICALL Java_Native_apply(JNIEnv* env, jclass c, jobject o, jint n) {
  return (*env)->CallIntMethod(env, o, (*env)->GetMethodID(env, c, "called", "(I)I"), n);
}
static JNIEnv* env_;
static jclass class_;
static int compare(const void* a, const void* b) {
  const jmethodID m = (*env_)->GetStaticMethodID(env_, class_, "compare", "(II)I");
  return (*env_)->CallStaticIntMethod(env_, class_, m, *(const jint*)a, *(const jint*)b);
}
JNIEXPORT jintArray JNICALL Java_Native_sort(JNIEnv* env, jclass c, jintArray list) {
  env_ = env;
  class_ = c;
  jint* all = (*env)->GetIntArrayElements(env, list, 0);
  qsort(all, (size_t)(*env)->GetArrayLength(env, list), sizeof *all, compare);
  (*env)->ReleaseIntArrayElements(env, list, all, 0);
  return list;
}

package agent.bindings;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.invoke.MethodHandle;

/**
 * The shapes of calls of the C library. Linking one more costs the start about 4 ms, so functions
 * share them: an argument that a function does not have is 0, an int is a long, and so is a result;
 * where a shape has the other one of a number and an address, a caller passes the address of a
 * segment that outlives the call, or a number as an address. The calling conventions of x86-64
 * (System V ABI) and AArch64 (AAPCS64) pass the first six of either kind in registers; a function
 * reads those of its own arguments, in the width that they have.
 */
@SuppressWarnings("restricted") // links native functions
public final class CallShape {
  /** Numbers alone. */
  public static final FunctionDescriptor NUMBERS =
      FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG);

  static final FunctionDescriptor ADDRESS_FIRST =
      FunctionDescriptor.of(
          JAVA_LONG, ADDRESS, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG);
  public static final FunctionDescriptor ADDRESS_SECOND =
      FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, ADDRESS, JAVA_LONG, JAVA_LONG, ADDRESS, ADDRESS);
  static final FunctionDescriptor ADDRESSES =
      FunctionDescriptor.of(JAVA_LONG, ADDRESS, ADDRESS, ADDRESS, JAVA_LONG, ADDRESS);
  public static final FunctionDescriptor OPTION =
      FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, ADDRESS, JAVA_LONG);
  static final FunctionDescriptor MESSAGE =
      FunctionDescriptor.of(
          JAVA_LONG, JAVA_LONG, ADDRESS, JAVA_LONG, JAVA_LONG, ADDRESS, JAVA_LONG);

  private static final Linker LINKER = Linker.nativeLinker();

  private CallShape() {}

  /** Links a function whose errno is captured into the first argument of the call. */
  public static MethodHandle link(String name, FunctionDescriptor descriptor) {
    return LINKER.downcallHandle(
        LINKER.defaultLookup().findOrThrow(name),
        descriptor,
        Linker.Option.captureCallState("errno"));
  }

  /**
   * Links a call whose errno is not read: capturing it creates a slice of the segment in each call,
   * which costs an allocation wherever the JIT compiler does not inline the whole call.
   */
  static MethodHandle linkPlain(String name, FunctionDescriptor descriptor) {
    return LINKER.downcallHandle(LINKER.defaultLookup().findOrThrow(name), descriptor);
  }
}

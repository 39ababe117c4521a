package agent.bindings.bpf;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import agent.bindings.LibC;
import agent.bindings.libbpf.Libbpf;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.ArrayList;
import java.util.List;

/**
 * Collects the messages that libbpf would write to stderr, per calling thread. Messages outside of
 * a collection are dropped, because the result of the call reports the failure.
 */
@SuppressWarnings("restricted") // links native functions and reinterprets segments
final class LibBpfMessages {
  private static final int LEVEL_INFO = 1;
  private static final int MAX_MESSAGE_BYTES = 2048;
  private static final int MAX_LINES = 200;

  private static final ThreadLocal<List<String>> COLLECTED = new ThreadLocal<>();

  private LibBpfMessages() {}

  static void redirect() {
    try {
      final MemorySegment callback =
          Linker.nativeLinker()
              .upcallStub(
                  MethodHandles.lookup()
                      .findStatic(
                          LibBpfMessages.class,
                          "onMessage",
                          MethodType.methodType(
                              int.class, int.class, MemorySegment.class, MemorySegment.class)),
                  FunctionDescriptor.of(JAVA_INT, JAVA_INT, ADDRESS, ADDRESS),
                  Arena.global());
      Libbpf.libbpf_set_print(callback);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Starts to collect messages of the calling thread. */
  static void begin() {
    COLLECTED.set(new ArrayList<>());
  }

  /** Ends the collection and returns its lines. */
  static List<String> end() {
    final List<String> lines = COLLECTED.get();
    COLLECTED.remove();
    return lines == null ? List.of() : lines;
  }

  /** Implements libbpf_print_fn_t; the supported 64-bit Linux ABIs pass a va_list as a pointer. */
  @SuppressWarnings("UnusedMethod") // libbpf calls it through a method handle found by name
  private static int onMessage(int level, MemorySegment format, MemorySegment arguments) {
    final List<String> lines = COLLECTED.get();
    if (lines == null || level > LEVEL_INFO || lines.size() >= MAX_LINES) {
      return 0;
    }
    try (Arena arena = Arena.ofConfined()) {
      final MemorySegment buffer = arena.allocate(MAX_MESSAGE_BYTES);
      LibC.vsnprintf(arena.allocate(LibC.CALL_STATE), buffer, format, arguments);
      lines.addAll(buffer.getString(0).lines().toList());
    }
    return 0;
  }
}

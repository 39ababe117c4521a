package agent.bindings.bpf;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** Joins the last lines of libbpf's messages and of the verifier log into one text. */
final class LoadLog {
  private static final int MAX_LINES = 40;
  private static final int MAX_TAIL_BYTES = 16384;

  private LoadLog() {}

  static String of(List<String> messages, MemorySegment kernelLogOrNull) {
    final List<String> lines = new ArrayList<>();
    for (final String message : messages) {
      lines.add(message.strip());
    }
    if (kernelLogOrNull != null) {
      tail(kernelLogOrNull).lines().map(String::stripTrailing).forEach(lines::add);
    }
    lines.removeIf(LoadLog::saysNothing);
    return String.join("\n", lines.subList(Math.max(0, lines.size() - MAX_LINES), lines.size()));
  }

  private static boolean saysNothing(String line) {
    return line.isBlank()
        || line.startsWith("processed ")
        || line.startsWith("verification time ")
        || line.startsWith("stack depth ");
  }

  private static String tail(MemorySegment log) {
    final long length = length(log);
    final long from = Math.max(0, length - MAX_TAIL_BYTES);
    final byte[] bytes = log.asSlice(from, length - from).toArray(JAVA_BYTE);
    return new String(bytes, StandardCharsets.UTF_8);
  }

  private static long length(MemorySegment log) {
    long length = 0;
    while (length < log.byteSize() && log.get(JAVA_BYTE, length) != 0) {
      length++;
    }
    return length;
  }
}

package agent.bindings.bpf;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;

/** The functions of the running kernel that its BTF names, such as those that programs may call. */
public final class KernelFunctions {
  private static final Path KERNEL_BTF = Path.of("/sys/kernel/btf/vmlinux");
  private static final int PART_BYTES = 1 << 16;

  private KernelFunctions() {}

  /**
   * Returns whether the kernel has a function, or a type, of this name. Reads the whole BTF of the
   * kernel, several megabytes, in parts.
   *
   * @return false also where the BTF cannot be read
   */
  public static boolean has(String name) {
    final byte[] wanted = ('\0' + name + '\0').getBytes(StandardCharsets.US_ASCII);
    try (InputStream btf = Files.newInputStream(KERNEL_BTF)) {
      return contains(btf, wanted);
    } catch (IOException unreadable) {
      return false;
    }
  }

  /** Strings of BTF end with a zero byte, and the one before ends there, too. */
  static boolean contains(InputStream stream, byte[] wanted) throws IOException {
    final int[] steps = new int[1 << Byte.SIZE];
    Arrays.fill(steps, wanted.length);
    for (int i = 0; i < wanted.length - 1; i++) {
      steps[wanted[i] & 0xff] = wanted.length - 1 - i;
    }
    final byte[] part = new byte[PART_BYTES];
    int kept = 0;
    int length = stream.read(part, 0, part.length);
    while (length > 0) {
      final int end = kept + length;
      if (isIn(part, end, wanted, steps)) {
        return true;
      }
      kept = Math.min(end, wanted.length - 1);
      System.arraycopy(part, end - kept, part, 0, kept);
      length = stream.read(part, kept, part.length - kept);
    }
    return false;
  }

  /**
   * Compares the last byte first, and goes on by as much as no beginning of what is wanted can end
   * there (Boyer, Moore, Horspool): the agent waits for this at its start.
   */
  private static boolean isIn(byte[] part, int end, byte[] wanted, int[] steps) {
    final int last = wanted.length - 1;
    for (int i = last; i < end; i += steps[part[i] & 0xff]) {
      if (part[i] == wanted[last]
          && Arrays.equals(part, i - last, i + 1, wanted, 0, wanted.length)) {
        return true;
      }
    }
    return false;
  }
}

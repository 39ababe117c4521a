package agent.bindings;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

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
    final byte[] part = new byte[PART_BYTES];
    int kept = 0;
    int length = stream.read(part, 0, part.length);
    while (length > 0) {
      final int end = kept + length;
      if (isIn(part, end, wanted)) {
        return true;
      }
      kept = Math.min(end, wanted.length - 1);
      System.arraycopy(part, end - kept, part, 0, kept);
      length = stream.read(part, kept, part.length - kept);
    }
    return false;
  }

  private static boolean isIn(byte[] part, int end, byte[] wanted) {
    for (int i = 0; i + wanted.length <= end; i++) {
      int same = 0;
      while (same < wanted.length && part[i + same] == wanted[same]) {
        same++;
      }
      if (same == wanted.length) {
        return true;
      }
    }
    return false;
  }
}

package agent.domain.node;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** The name of this node. */
public final class HostName {
  private HostName() {}

  /** Reads the host name from the kernel, without a name service. */
  public static String read() {
    try {
      return Files.readString(Path.of("/proc/sys/kernel/hostname")).strip();
    } catch (IOException e) {
      return "localhost";
    }
  }
}

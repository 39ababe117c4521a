package agent.state;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/** Starts a test class in a separate JVM that may have few descriptors open. */
final class ChildJvm {
  private ChildJvm() {}

  private static final int DESCRIPTORS = 128;

  static Process start(Class<?> main, String argument) throws IOException {
    return new ProcessBuilder(
            List.of(
                "sh",
                "-c",
                "ulimit -n " + DESCRIPTORS + " && exec \"$0\" \"$@\"",
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx64m",
                "-XX:TieredStopAtLevel=1",
                "-cp",
                System.getProperty("java.class.path"),
                main.getName(),
                argument))
        .redirectError(ProcessBuilder.Redirect.INHERIT)
        .start();
  }
}

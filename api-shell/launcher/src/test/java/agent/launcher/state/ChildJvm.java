package agent.launcher.state;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/** Starts a class of the tests in a JVM of its own. */
final class ChildJvm {
  private ChildJvm() {}

  static Process start(Class<?> main, String argument) throws IOException {
    return new ProcessBuilder(
            List.of(
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

package agent.state;

import agent.types.OwnedPath;
import agent.types.Refusal;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;

/** The state directory before it is used: others can neither own nor write what leads to it. */
final class StateDirectory {
  private StateDirectory() {}

  /**
   * Checks the directory and the path to it, and creates what is missing (0700).
   *
   * @throws Refusal INVALID naming the directory that others own or may write to
   * @throws IOException where it cannot be created or is not a directory
   */
  static void prepare(Path directory) throws IOException {
    OwnedPath.check("state-dir", directory);
    Files.createDirectories(
        directory,
        PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
  }
}

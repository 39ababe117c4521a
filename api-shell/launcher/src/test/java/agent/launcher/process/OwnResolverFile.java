package agent.launcher.process;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Commands that have a file of their own in the place of {@code /etc/resolv.conf}. */
final class OwnResolverFile {
  private static final List<String> IN_ITS_PLACE =
      List.of(
          "unshare",
          "--mount",
          "--propagation",
          "private",
          "--",
          "sh",
          "-c",
          "mount --bind \"$1\" /etc/resolv.conf || exit 9; shift; exec \"$@\"",
          "sh");

  private OwnResolverFile() {}

  /** Returns the command that runs another one with the file. */
  static String[] inPlace(Path file, List<String> command) {
    final List<String> words = new ArrayList<>(IN_ITS_PLACE);
    words.add(file.toString());
    words.addAll(command);
    return words.toArray(String[]::new);
  }
}

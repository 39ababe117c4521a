package agent.launcher.process;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Commands that have mounts of their own. */
final class OwnMounts {
  static final Path RESOLVER_FILE = Path.of("/etc/resolv.conf");

  private static final String FILES =
      "while [ \"$1\" != -- ]; do mount --bind \"$1\" \"$2\" || exit 9; shift 2; done;"
          + " shift; exec \"$@\"";

  private OwnMounts() {}

  /** Returns the command that runs a script of the shell with arguments. */
  static String[] script(String script, List<String> arguments) {
    final List<String> words =
        new ArrayList<>(
            List.of(
                "unshare", "--mount", "--propagation", "private", "--", "sh", "-c", script, "sh"));
    words.addAll(arguments);
    return words.toArray(String[]::new);
  }

  /** Returns the command that runs another one with a file in the place of the resolver's. */
  static String[] resolverFile(Path file, List<String> command) {
    return files(Map.of(RESOLVER_FILE, file), command);
  }

  /**
   * Returns the command that runs another one with other files.
   *
   * @param files by what they take the place of
   */
  static String[] files(Map<Path, Path> files, List<String> command) {
    final List<String> arguments = new ArrayList<>();
    files.forEach((place, file) -> arguments.addAll(List.of(file.toString(), place.toString())));
    arguments.add("--");
    arguments.addAll(command);
    return script(FILES, arguments);
  }
}

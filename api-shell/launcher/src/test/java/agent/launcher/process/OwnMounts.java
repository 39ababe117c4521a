package agent.launcher.process;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Commands that have mounts of their own. */
final class OwnMounts {
  private static final String RESOLVER_FILE =
      "mount --bind \"$1\" /etc/resolv.conf || exit 9; shift; exec \"$@\"";

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
    final List<String> arguments = new ArrayList<>(List.of(file.toString()));
    arguments.addAll(command);
    return script(RESOLVER_FILE, arguments);
  }
}

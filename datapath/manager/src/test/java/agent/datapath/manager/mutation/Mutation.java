package agent.datapath.manager.mutation;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * One planted bug: a line of the list.
 *
 * @param group the behaviour that the bug breaks
 * @param file path under {@code bpf-src}
 * @param sed script that changes one line of the file
 * @param test {@code Class#method}, or {@code Class}: the test that must fail
 */
record Mutation(String group, String name, String file, String sed, String test) {
  /** The module whose tests catch the bugs of a group without another's name. */
  static final String DATAPATH_MANAGER = "datapath-manager";

  private static final String SEPARATOR = " :: ";

  /**
   * Reads a list: {@code [group]} or {@code [module: group]}, {@code # comment}, or {@code name ::
   * file :: sed :: test}.
   *
   * @throws IllegalArgumentException where a line is not one of these, or a name occurs twice
   */
  static List<Mutation> read(Path list) throws IOException {
    final List<Mutation> mutations = new ArrayList<>();
    final Set<String> names = new HashSet<>();
    String group = "";
    for (final String line : Files.readAllLines(list)) {
      if (line.startsWith("[") && line.endsWith("]")) {
        group = line.substring(1, line.length() - 1);
      } else if (!line.isBlank() && !line.startsWith("#")) {
        final String[] parts = line.split(SEPARATOR, -1);
        if (parts.length != 4 || group.isEmpty() || !names.add(parts[0].strip())) {
          throw new IllegalArgumentException(list + ": '" + line + "'");
        }
        mutations.add(
            new Mutation(
                group, parts[0].strip(), parts[1].strip(), parts[2].strip(), parts[3].strip()));
      }
    }
    return mutations;
  }

  /** Returns the module whose tests catch the bug. */
  String module() {
    final int end = group.indexOf(": ");
    return end < 0 ? DATAPATH_MANAGER : group.substring(0, end);
  }
}

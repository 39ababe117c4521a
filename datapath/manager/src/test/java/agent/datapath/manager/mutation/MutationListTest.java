package agent.datapath.manager.mutation;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/**
 * A bug whose line has changed in the source is no longer planted, and would never be missed; one
 * that changes more than its line is several.
 */
class MutationListTest {
  private static final Path SOURCES = Path.of("../../bpf-src");

  /**
   * Reads a file and a script a line each, and prints what each script makes of its file, and NUL.
   */
  private static final String EDIT =
      "while IFS= read -r file && IFS= read -r script; do"
          + " sed \"$script\" \"$file\"; printf '\\0'; done";

  @Test
  void shouldChangeOneLineOfTheSourceByEachBug() throws Exception {
    final List<Mutation> listed = Mutation.read(PlantedBugs.LIST);
    final List<Edit> edits =
        listed.stream().map(mutation -> new Edit(mutation.file(), mutation.sed())).toList();
    final List<String> others =
        numbersOfOthers(edits).stream().map(number -> listed.get(number - 1).name()).toList();
    assertEquals(List.of(), others);
  }

  @Test
  void shouldFindScriptsThatChangeNoLineOrMore() throws Exception {
    final String file = "include/lib/delivery.h";
    final List<String> scripts =
        List.of(
            "s/^\\tip->ttl--;$//",
            "/^\\tip->ttl--;$/d",
            "s/^no such line$//",
            "s/^\\tip->ttl--;$/\\tip->ttl--;\\n\\tip->ttl--;/",
            "s/^\\tip->ttl--;$/\\t;\\n\\t;/",
            "s/ttl/hop_limit/",
            "/^\\tip->ttl--;$/{N;d}");
    final List<Edit> edits = scripts.stream().map(script -> new Edit(file, script)).toList();
    assertEquals(List.of(3, 4, 5, 6, 7), numbersOfOthers(edits));
  }

  private record Edit(String file, String script) {}

  /** Returns the numbers, from 1 on, of the edits that do not change or remove one line. */
  private static List<Integer> numbersOfOthers(List<Edit> edits)
      throws IOException, InterruptedException {
    final String[] changed = changed(edits).split("\0", -1);
    assertEquals(edits.size() + 1, changed.length, "files");
    final Map<String, List<String>> sources = new HashMap<>();
    final List<Integer> others = new ArrayList<>();
    for (int i = 0; i < edits.size(); i++) {
      final String file = edits.get(i).file();
      if (!sources.containsKey(file)) {
        sources.put(file, Files.readAllLines(SOURCES.resolve(file)));
      }
      if (!isOneLineOf(sources.get(file), changed[i].lines().toList())) {
        others.add(i + 1);
      }
    }
    return others;
  }

  private static boolean isOneLineOf(List<String> before, List<String> after) {
    int same = 0;
    while (same < Math.min(before.size(), after.size())
        && before.get(same).equals(after.get(same))) {
      same++;
    }
    final int removed = before.size() - after.size();
    return same < before.size()
        && (removed == 0 || removed == 1)
        && before
            .subList(same + 1, before.size())
            .equals(after.subList(same + 1 - removed, after.size()));
  }

  /** Returns what the scripts make of their files, each followed by NUL. */
  private static String changed(List<Edit> edits) throws IOException, InterruptedException {
    final String input =
        edits.stream()
            .map(edit -> edit.file() + '\n' + edit.script() + '\n')
            .collect(Collectors.joining());
    final Process process =
        new ProcessBuilder("sh", "-c", EDIT)
            .directory(SOURCES.toFile())
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    Thread.ofVirtual()
        .start(
            () -> {
              try (var out = process.getOutputStream()) {
                out.write(input.getBytes(StandardCharsets.UTF_8));
              } catch (IOException failure) {
                process.destroy();
              }
            });
    final String output =
        new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertEquals(0, process.waitFor());
    return output;
  }
}

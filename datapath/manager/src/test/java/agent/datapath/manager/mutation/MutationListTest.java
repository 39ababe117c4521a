package agent.datapath.manager.mutation;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/**
 * A bug whose line has changed in the source is no longer planted, and would never be missed; one
 * that changes more than its line is several.
 */
class MutationListTest {
  /**
   * Reads a file and a script a line each, and prints the numbers of those that do not change or
   * remove one line.
   */
  private static final String NOT_ONE_LINE =
      "n=0; while IFS= read -r file && IFS= read -r script; do n=$((n + 1));"
          + " sed \"$script\" \"$file\" | diff \"$file\" -"
          + " | awk '/^</{a++} /^>/{b++} END {exit (a == 1 && b <= 1)}' && echo $n; done; true";

  @Test
  void shouldChangeOneLineOfTheSourceByEachBug() throws Exception {
    final List<Mutation> listed = Mutation.read(PlantedBugs.LIST);
    final String input =
        listed.stream()
            .map(mutation -> mutation.file() + '\n' + mutation.sed() + '\n')
            .collect(Collectors.joining());
    final List<String> others =
        numbers(input).stream().map(number -> listed.get(number - 1).name()).toList();
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
    final String input =
        scripts.stream().map(script -> file + '\n' + script + '\n').collect(Collectors.joining());
    assertEquals(List.of(3, 4, 5, 6, 7), numbers(input));
  }

  private static List<Integer> numbers(String input) throws IOException, InterruptedException {
    final Process process =
        new ProcessBuilder("sh", "-c", NOT_ONE_LINE)
            .directory(Path.of("../../bpf-src").toFile())
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
    return output.lines().map(Integer::valueOf).toList();
  }
}

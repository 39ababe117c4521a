package agent.datapath.manager.mutation;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** A bug whose line has changed in the source is no longer planted, and would never be missed. */
class MutationListTest {
  /** Reads a file and a script a line each, and prints the numbers of those that change nothing. */
  private static final String UNCHANGED =
      "n=0; while IFS= read -r file && IFS= read -r script; do n=$((n + 1));"
          + " sed \"$script\" \"$file\" | cmp -s - \"$file\" && echo $n; done; true";

  @Test
  void shouldChangeTheSourceByEachBug() throws Exception {
    final List<Mutation> listed = Mutation.read(PlantedBugs.LIST);
    final String input =
        listed.stream()
            .map(mutation -> mutation.file() + '\n' + mutation.sed() + '\n')
            .collect(Collectors.joining());
    final List<String> unchanged =
        numbers(input).stream().map(number -> listed.get(number - 1).name()).toList();
    assertEquals(List.of(), unchanged);
  }

  private static List<Integer> numbers(String input) throws IOException, InterruptedException {
    final Process process =
        new ProcessBuilder("sh", "-c", UNCHANGED)
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

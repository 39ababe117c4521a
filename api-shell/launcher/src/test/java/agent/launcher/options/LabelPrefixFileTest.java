package agent.launcher.options;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class LabelPrefixFileTest {
  @TempDir private Path folder;

  private List<String> read(String text) throws IOException {
    return LabelPrefixFile.read(Files.writeString(folder.resolve("prefixes"), text));
  }

  @Test
  void shouldReadTheEntriesOfJsonAndYaml() throws IOException {
    assertEquals(
        List.of("app", "k8s:io.kubernetes.pod.namespace", "!tmp"),
        read(
            """
            {"version": 1, "valid-prefixes": [
              {"prefix": "app"},
              {"prefix": "io.kubernetes.pod.namespace", "source": "k8s"},
              {"prefix": "tmp", "source": "", "invert": true}]}
            """));
    assertEquals(List.of("app"), read("version: 1\nvalid-prefixes:\n- prefix: app\n"));
    assertEquals(List.of(), read("{version: 1, valid-prefixes: []}"));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "[]|the document: must be a mapping",
        "{version: 2, valid-prefixes: []}|version: must be 1",
        "{version: 1}|valid-prefixes: must be a list",
        "{version: 1, valid-prefixes: [], x: 1}|the document: 'x' is an unknown field",
        "{version: 1, valid-prefixes: [a]}|valid-prefixes[0]: must be a mapping",
        "{version: 1, valid-prefixes: [{}]}|valid-prefixes[0].prefix: must be a string"
            + " that is not empty",
        "{version: 1, valid-prefixes: [{prefix: a, invert: 3}]}|valid-prefixes[0].invert: must be"
            + " true or false",
        "{version: 1, valid-prefixes: [{prefix: a, source: 3}]}|valid-prefixes[0].source: must be"
            + " a string",
        "{version: 1, valid-prefixes: [{prefix: a, ignore: true}]}|valid-prefixes[0]: 'ignore' is"
            + " an unknown field",
        "{{|neither JSON nor YAML"
      })
  void shouldNameWhatIsWrong(String text, String message) {
    final OptionException refusal = assertThrows(OptionException.class, () -> read(text));
    assertEquals(
        "--label-prefix-file " + folder.resolve("prefixes") + ": " + message, refusal.getMessage());
  }

  @Test
  void shouldReadAFileOfOneMebibyteAndNoLargerOne() throws IOException {
    final String text = "{version: 1, valid-prefixes: []}\n#";
    final String longest = text + "x".repeat((1 << 20) - text.length());
    assertEquals(List.of(), read(longest));
    final OptionException refusal = assertThrows(OptionException.class, () -> read(longest + "x"));
    assertTrue(refusal.getMessage().endsWith(": larger than 1048576 bytes"));
  }

  @Test
  void shouldNameAFileThatCannotBeRead() {
    final OptionException refusal =
        assertThrows(OptionException.class, () -> LabelPrefixFile.read(folder.resolve("missing")));
    assertTrue(refusal.getMessage().contains("missing: cannot be read: "), refusal.getMessage());
  }
}

package agent.cli.output;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class JsonPathTest {
  private static final Object DOCUMENT =
      tree(
          """
          {"items": [
            {"id": 7, "name": "web", "status": {"state": "ready", "log": [{"t": 1}, {"t": 2}]}},
            {"id": 12, "name": "db", "status": {"state": "restoring"}, "a.b": true},
            {"id": 110, "name": null}
          ], "revision": 1.50}
          """);

  private static Object tree(String json) {
    return AnswerPrinter.tree(new ByteArrayInputStream(json.getBytes(StandardCharsets.UTF_8)));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '~',
      value = {
        "$.revision | 1.50",
        ".revision | 1.50",
        "revision | 1.50",
        ".items[0].name | web",
        "$['items'][1][\"name\"] | db",
        ".items[1]['a.b'] | true",
        ".items[-1].id | 110",
        ".items[*].id | 7,12,110",
        ".items[*].status.state | ready,restoring",
        ".items[1:].id | 12,110",
        ".items[:-1].id | 7,12",
        ".items[0:1].id | 7",
        ".items[5:].id | ~~",
        "..state | ready,restoring",
        "..log[*].t | 1,2",
        "$..t | 1,2",
        ".items[0].status.log[1] | {\"t\":2}",
        ".items[0].status.* | ready,[{\"t\":1},{\"t\":2}]",
        ".items[?(@.id==12)].name | db",
        ".items[?(@.id>9)].id | 12,110",
        ".items[?(@.id<=12)].id | 7,12",
        ".items[?(@.name!='web')].id | 12,110",
        ".items[?(@.status.state=='ready')].id | 7",
        ".items[?(@.status)].id | 7,12",
        ".items[?(@['a.b'])].id | 12",
        ".items[2].name | null",
        ".items[?(@.id<12)].id | 7",
        ".items[?(@.id>12)].id | 110",
        ".items[?(@.id>=12)].id | 12,110",
        ".items[?(@.id<7)].id | ~~",
        ".items[?(@.id==\"7\")].id | 7",
        ".items[?(@.name=='')].id | ~~",
        ".items[?(@.name==)].id | ~~",
        ".items[-3].id | 7",
        ".items[-4] | ~~",
        ".items[3] | ~~",
        "revision. | 1.50",
        ".none | ~~",
        ".items[9] | ~~",
        ".revision.none | ~~",
      })
  void shouldFindTheValues(String path, String expected) {
    assertEquals(
        expected,
        String.join(
            ",",
            JsonPath.of(path).from(DOCUMENT).stream()
                .map(value -> value instanceof String text ? text : JsonTreeWriter.compact(value))
                .toList()));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {".a[", ".a]", ".a[x]", ".a[1:2:3]", "a..", ".a[?(@.b]", "$a b[", ".a['b]"})
  void shouldSayWhereAPathIsMalformed(String path) {
    if (path.equals("a..")) {
      assertFalse(JsonPath.of(path).isDefinite());
      return;
    }
    final String message =
        assertThrows(IllegalArgumentException.class, () -> JsonPath.of(path)).getMessage();
    assertTrue(message.startsWith("'" + path + "': "), message);
    assertTrue(message.matches(".* is expected at column [0-9]+"), message);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        ".a[ | ']' is expected at column 4",
        ".a] | '.' or '[' is expected at column 3",
        ".[b]c | an index, a quoted name, '*', a slice or ?(…) is expected at column 3",
        "[]    | an index, a quoted name, '*', a slice or ?(…) is expected at column 2",
        "a..]  | a name is expected at column 4",
      })
  void shouldCountColumnsFromOne(String path, String expected) {
    assertEquals(
        "'" + path + "': " + expected,
        assertThrows(IllegalArgumentException.class, () -> JsonPath.of(path)).getMessage());
  }

  @Test
  void shouldLeadToTheWholeDocumentWhereNoStepFollows() {
    for (final String path : List.of("", "$", "@", ".")) {
      assertEquals(List.of(DOCUMENT), JsonPath.of(path).from(DOCUMENT), path);
    }
  }

  @Test
  void shouldPrintTheTextBetweenPaths() {
    assertEquals("7 ready\n", print("{.items[0].id} {.items[0].status.state}\\n", true));
    assertEquals("ids:\t7 12 110", print("ids:\\t{.items[*].id}", true));
    assertEquals("7\n12\n110\n", print(".items[*].id", true));
    assertEquals("{\"t\":1}\n", print(".items[0].status.log[0]", true));
  }

  @Test
  void shouldReportAPathOfOneValueThatFindsNone() {
    assertEquals("", print(".none", false));
    assertEquals("x", print("x{.items[9].id}", false));
    assertEquals("", print(".items[?(@.id==1)]", true));
    assertEquals("", print("..none", true));
  }

  @Test
  void shouldLetNoControlCharacterThrough() {
    final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (PrintStream out = new PrintStream(bytes, true, StandardCharsets.UTF_8)) {
      new PathTemplate(".a").print(tree("{\"a\":\"x\\u001b[31m\"}"), out);
    }
    assertEquals("x?[31m\n", bytes.toString(StandardCharsets.UTF_8));
  }

  @Test
  void shouldRefuseATemplateThatIsNotClosedOrEmpty() {
    assertThrows(IllegalArgumentException.class, () -> new PathTemplate("{.a"));
    assertThrows(IllegalArgumentException.class, () -> new PathTemplate(""));
  }

  private static String print(String template, boolean isComplete) {
    final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (PrintStream out = new PrintStream(bytes, true, StandardCharsets.UTF_8)) {
      assertEquals(isComplete, new PathTemplate(template).print(DOCUMENT, out), template);
    }
    return bytes.toString(StandardCharsets.UTF_8);
  }
}

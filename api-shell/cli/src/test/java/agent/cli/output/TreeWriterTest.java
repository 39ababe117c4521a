package agent.cli.output;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.Function;
import org.junit.jupiter.api.Test;
import org.snakeyaml.engine.v2.api.Load;
import org.snakeyaml.engine.v2.api.LoadSettings;

/** What is written reads as what was given, by a parser that is not ours. */
class TreeWriterTest {
  private static final long SEED = 20261120;

  /** Texts that YAML gives a meaning. */
  private static final List<String> TEXTS =
      List.of(
          "",
          " ",
          "a",
          "true",
          "No",
          "null",
          "~",
          "1",
          "1.5",
          "0x10",
          "1e3",
          ".5",
          "-",
          "- a",
          "a: b",
          "a:b",
          "k8s:app=web",
          "a #b",
          "#b",
          "a\nb",
          "\ta",
          "a ",
          "é",
          "\u0085",
          "\u2028",
          "\ud83d\ude00",
          "'",
          "\"",
          "\\",
          "{",
          "[a]",
          "*a",
          "&a",
          "!a",
          "|",
          ">",
          "%a",
          "@a",
          "`a",
          "?",
          ": ",
          "=",
          "<<",
          "2026-11-20",
          "12:30:45",
          "10.1.0.7",
          "fd00::7",
          "\u001b[31m",
          "yes",
          "_",
          "...",
          "---",
          "/sys");

  private static String written(Function<PrintStream, TreeWriter> format, Object value) {
    final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (PrintStream out = new PrintStream(bytes, false, StandardCharsets.UTF_8)) {
      final TreeWriter writer = format.apply(out);
      writer.value(value);
      writer.end();
    }
    return bytes.toString(StandardCharsets.UTF_8);
  }

  private static Object randomValue(Random random, int depth) {
    return switch (random.nextInt(depth > 4 ? 5 : 8)) {
      case 0 -> null;
      case 1 -> random.nextBoolean();
      case 2 -> new Tree.Numeral(Integer.toString(random.nextInt()));
      case 3, 4 -> TEXTS.get(random.nextInt(TEXTS.size()));
      case 5, 6 -> {
        final Map<String, Object> members = new LinkedHashMap<>();
        for (int i = random.nextInt(4); i > 0; i--) {
          members.put(TEXTS.get(random.nextInt(TEXTS.size())), randomValue(random, depth + 1));
        }
        yield members;
      }
      default -> {
        final List<Object> elements = new ArrayList<>();
        for (int i = random.nextInt(4); i > 0; i--) {
          elements.add(randomValue(random, depth + 1));
        }
        yield elements;
      }
    };
  }

  /** Numbers are texts here, so that the two readers give equal values. */
  private static Object comparable(Object value) {
    return switch (value) {
      case Map<?, ?> members -> {
        final Map<Object, Object> same = new LinkedHashMap<>();
        members.forEach((name, member) -> same.put(name, comparable(member)));
        yield same;
      }
      case List<?> elements ->
          elements.stream().map(TreeWriterTest::comparable).toList().toString();
      case Number number -> "number " + number;
      case Tree.Numeral number -> "number " + number;
      case null, default -> value;
    };
  }

  @Test
  void shouldWriteYamlThatReadsAsTheSameValue() {
    final Random random = new Random(SEED);
    for (int i = 0; i < 3000; i++) {
      final Object value = randomValue(random, 0);
      final String yaml = written(YamlTreeWriter::new, value);
      final Object read = new Load(LoadSettings.builder().build()).loadFromString(yaml);
      assertEquals(comparable(value), comparable(read), () -> "run " + SEED + ":\n" + yaml);
    }
  }

  @Test
  void shouldWriteJsonThatReadsAsTheSameValue() {
    final Random random = new Random(SEED);
    for (int i = 0; i < 3000; i++) {
      final Object value = randomValue(random, 0);
      for (final String json :
          List.of(written(JsonTreeWriter::new, value), JsonTreeWriter.compact(value))) {
        assertEquals(
            value,
            AnswerPrinter.tree(new ByteArrayInputStream(json.getBytes(StandardCharsets.UTF_8))),
            json);
        assertEquals(
            comparable(value),
            comparable(new Load(LoadSettings.builder().build()).loadFromString(json)),
            json);
      }
    }
  }

  @Test
  void shouldWriteYamlAsPeopleDo() {
    final Object value =
        AnswerPrinter.tree(
            new ByteArrayInputStream(
                """
                [{"id": 7, "labels": ["k8s:app=web", "a b"], "none": [], "state": "ready",
                  "log": [{"t": 1, "u": {}}, [2]]}, "x"]
                """
                    .getBytes(StandardCharsets.UTF_8)));
    assertEquals(
        """
        - id: 7
          labels:
            - k8s:app=web
            - "a b"
          none: []
          state: ready
          log:
            - t: 1
              u: {}
            - - 2
        - x
        """,
        written(YamlTreeWriter::new, value));
  }

  @Test
  void shouldIndentJson() {
    final Map<String, Object> value = new LinkedHashMap<>();
    value.put("a", List.of(new Tree.Numeral("1.50"), Map.of(), List.of()));
    value.put("b", Map.of("c", "d\u0007"));
    assertEquals(
        """
        {
          "a": [
            1.50,
            {},
            []
          ],
          "b": {
            "c": "d\\u0007"
          }
        }
        """,
        written(JsonTreeWriter::new, value));
    assertEquals("{\"a\":[1.50,{},[]],\"b\":{\"c\":\"d\\u0007\"}}", JsonTreeWriter.compact(value));
    assertEquals("\"x\"\n", written(JsonTreeWriter::new, "x"));
  }

  /** What a terminal or an editor could take for an order is escaped, and nothing else. */
  @Test
  void shouldEscapeControlCharactersAlone() {
    assertEquals(
        "\"\\u0000\\u001f ~\\u007f\\u0080\\u009f\u00a0\u2027\\u2028\\u2029\u202a\\ufeff\"",
        JsonTreeWriter.compact(
            "\u0000\u001f ~\u007f\u0080\u009f\u00a0\u2027\u2028\u2029\u202a\ufeff"));
    assertEquals("\"\\n\\r\\t\\\"\\\\\"", JsonTreeWriter.compact("\n\r\t\"\\"));
  }
}

package agent.server.handler;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import tools.jackson.core.JsonGenerator;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** A document in a string is the same as its text written as a string. */
class JsonInStringTest {
  private static final JsonMapper MAPPER = new JsonMapper();

  private static String written(Object document) {
    final ByteArrayOutputStream out = new ByteArrayOutputStream();
    try (JsonGenerator json = MAPPER.createGenerator(out)) {
      json.writeStartObject();
      json.writeName("policy");
      try (JsonGenerator text = MAPPER.createGenerator(new JsonInString(json))) {
        text.writePOJO(document);
      }
      json.writeNumberProperty("revision", 7);
      json.writeEndObject();
    }
    return out.toString(StandardCharsets.UTF_8);
  }

  private static void check(Object document) {
    final JsonNode read = MAPPER.readTree(written(document));
    assertEquals(7, read.get("revision").asInt());
    assertEquals(MAPPER.writeValueAsString(document), read.get("policy").asString());
  }

  @Test
  void shouldEscapeQuotesAndBackslashes() {
    assertEquals(
        "{\"policy\":\"[\\\"a\\\\\\\"\\\\\\\\b\\\\n\\\",1]\",\"revision\":7}",
        written(List.of("a\"\\b\n", 1)));
    check(List.of());
    check(List.of("", "\"", "\\", "\\\"", "é\u20ac", "\u0000\u001f\t"));
  }

  /** The generator hands its text over in pieces, which may end within a character. */
  @Test
  void shouldTearNoCharacterWhereverAPieceEnds() {
    final Random random = new Random(20261122);
    for (int i = 0; i < 200; i++) {
      final StringBuilder text = new StringBuilder();
      while (text.length() < 3000 + i) {
        text.append(
            switch (random.nextInt(5)) {
              case 0 -> "\ud83d\ude00";
              case 1 -> "\"";
              case 2 -> "\\";
              case 3 -> "\u20ac";
              default -> "x";
            });
      }
      check(List.of(text.toString(), text.reverse().toString()));
    }
  }

  @Test
  void shouldJoinTheHalvesOfACharacterOfTwoPieces() throws IOException {
    final ByteArrayOutputStream out = new ByteArrayOutputStream();
    try (JsonGenerator json = MAPPER.createGenerator(out);
        JsonInString text = new JsonInString(json)) {
      text.write("a\ud83d");
      text.write("");
      text.write("\ude00");
      text.write("\ud83d");
      text.write("\ude01b\"");
    }
    assertEquals("\"a\ud83d\ude00\ud83d\ude01b\\\"\"", out.toString(StandardCharsets.UTF_8));
  }
}

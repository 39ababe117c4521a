package agent.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The bytes of every length of a character, of surrogates and of escapes. */
class Utf8TextTest {
  private static final int ROOMY = 1 << 20;

  /** Returns what is collected, as text, where the parts are written one after the other. */
  private static String collected(String... parts) throws IOException {
    final Utf8Text text = new Utf8Text(ROOMY);
    for (final String part : parts) {
      text.write(part);
    }
    return decoded(text);
  }

  private static String decoded(Utf8Text text) throws IOException {
    final ByteBuffer bytes = JoinedParts.of(text.parts());
    return StandardCharsets.UTF_8.newDecoder().decode(bytes).toString();
  }

  @Test
  void shouldEncodeTheFirstAndLastCharacterOfEveryLength() throws IOException {
    for (final int codePoint :
        new int[] {
          0, 0x41, 0x7f, 0x80, 0xff, 0x7ff, 0x800, 0xfff, 0x1000, 0xd7ff, 0xe000, 0xffff, 0x10000,
          0x1f600, 0x3ffff, 0x40000, 0xfffff, 0x100000, 0x10ffff
        }) {
      final String one = Character.toString(codePoint);
      assertEquals("a" + one + "z", collected("a" + one + "z"), Integer.toHexString(codePoint));
      assertEquals(one, collected(one));
    }
  }

  @Test
  void shouldEscapeSurrogatesThatAreNoPair() throws IOException {
    assertEquals("a\\uD83Dz", collected("a\ud83dz"));
    assertEquals("\\uDE00é", collected("\ude00é"));
    assertEquals("\\uD83D\ud83d\ude00\\uDE00", collected("\ud83d\ud83d\ude00\ude00"));
    assertEquals("end\\uDBFF", collected("end\udbff"));
  }

  @Test
  void shouldWriteTheDigitsOfEscapesAloneInUpperCase() throws IOException {
    assertEquals("\\u00E9ab", collected("\\u00e9ab"));
    assertEquals("\\u001Fu00e9", collected("\\u001fu00e9"));
    assertEquals("\\\\u00e9", collected("\\\\u00e9"));
    assertEquals("\\nabcd\\\"abcd", collected("\\nabcd\\\"abcd"));
    assertEquals("\\uABCD\\uABCD", collected("\\uabcd\\uabcd"));
  }

  @Test
  void shouldCollectTheSameHoweverTheTextIsCut() throws IOException {
    final String text = "a\\u00e9\\\\u00e9 é\u20ac\ud83d\ude00\ud83d\\n\ude00end";
    final String whole = collected(text);
    assertEquals("a\\u00E9\\\\u00e9 é\u20ac\ud83d\ude00\\uD83D\\n\\uDE00end", whole);
    for (int cut = 1; cut < text.length(); cut++) {
      assertEquals(whole, collected(text.substring(0, cut), text.substring(cut)), "cut at " + cut);
    }
    final Utf8Text part = new Utf8Text(ROOMY);
    part.write(("x" + text + "y").toCharArray(), 1, text.length());
    assertEquals(whole, decoded(part));
  }

  @Test
  void shouldGrowWithTextsOfEveryLength() throws IOException {
    for (final String character : List.of("a", "\u20ac", "\ude00")) {
      for (final int count : new int[] {1, 170, 171, 341, 342, 1023, 1024, 1025, 50_000}) {
        final String text = character.repeat(count);
        final String expected = text.replace("\ude00", "\\uDE00");
        assertEquals(expected, collected(text));
        assertEquals("b" + expected + expected, collected("b", text, text));
      }
    }
  }

  /** A document of many parts costs its own size: no part is copied into a larger one. */
  @Test
  void shouldKeepALargeDocumentInPartsOfBoundedSize() throws IOException {
    final Utf8Text text = new Utf8Text(64 << 20);
    final char[] piece = "é234567890".repeat(400).toCharArray();
    long characters = 0;
    while (characters < 20 << 20) {
      text.write(piece, 0, piece.length);
      characters += piece.length;
    }
    final List<ByteBuffer> parts = text.parts();
    parts.forEach(part -> assertTrue(part.capacity() <= 1 << 20, part::toString));
    assertEquals(characters + characters / 10, JoinedParts.of(parts).remaining());
  }

  @Test
  void shouldRefuseOneByteMoreThanTheLongestDocument() throws IOException {
    final Utf8Text text = new Utf8Text(8);
    text.write("12345678");
    assertEquals("12345678", decoded(text));
    final IOException refused = assertThrows(IOException.class, () -> text.write("9"));
    assertEquals("the document has more than 8 bytes", refused.getMessage());
    assertThrows(IOException.class, () -> new Utf8Text(8).write("\u20ac\u20ac\u20ac"));
  }

  @Test
  void shouldCountWhatIsInEarlierPartsToTheLength() throws IOException {
    final Utf8Text text = new Utf8Text(10_000);
    for (int i = 0; i < 100; i++) {
      text.write("0123456789".repeat(10));
    }
    assertThrows(IOException.class, () -> text.write("x"));
  }

  /** Each part is twice as long as the one before, up to the largest. */
  @Test
  void shouldNeedFewPartsForALongDocument() throws IOException {
    final Utf8Text text = new Utf8Text(ROOMY);
    for (int i = 0; i < ROOMY / 16; i++) {
      text.write("0123456789abcdef");
    }
    assertTrue(text.parts().size() <= 12, text.parts().size() + " parts");
    assertEquals(ROOMY, JoinedParts.of(text.parts()).remaining());
  }
}

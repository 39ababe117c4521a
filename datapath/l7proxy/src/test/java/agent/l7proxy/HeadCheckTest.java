package agent.l7proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The grammar of a request line and of a field line (RFC 9112 sections 3 and 5), byte by byte. */
class HeadCheckTest {
  private static final String NO_REQUEST_LINE = "malformed request line";
  private static final String NO_VERSION = "the version is not HTTP/1.0 or HTTP/1.1";
  private static final String NO_LINE_END = "a line does not end with CR LF";
  private static final String TOKENS =
      "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

  /** Checks a line that stands behind and before other bytes. */
  private static String problem(String line, boolean isFirst) {
    final String before = "before: a b c\r\n";
    final ByteBuf bytes =
        Unpooled.copiedBuffer(before + line + "\r\n\r\n", StandardCharsets.ISO_8859_1);
    final int end = bytes.indexOf(before.length(), bytes.writerIndex(), (byte) '\n');
    return HeadCheck.problem(bytes, before.length(), end, isFirst);
  }

  private static String requestLine(String line) {
    return problem(line, true);
  }

  private static String field(String line) {
    return problem(line, false);
  }

  @Test
  void shouldTakeTheCharactersOfATokenAndNoOther() {
    assertTrue(HeadCheck.isToken(TOKENS));
    assertFalse(HeadCheck.isToken(""));
    for (char c = 0; c < 0x180; c++) {
      final boolean isAllowed = TOKENS.indexOf(c) >= 0;
      assertEquals(isAllowed, HeadCheck.isToken(Character.toString(c)), "character " + (int) c);
      assertEquals(isAllowed, HeadCheck.isToken("a" + c), "character " + (int) c);
    }
  }

  @Test
  void shouldTakeOnlyTokensAsAMethod() {
    for (char c = 1; c < 0x100; c++) {
      if (c != ' ' && c != '\n') {
        assertEquals(
            TOKENS.indexOf(c) >= 0 ? null : "invalid character in the method",
            requestLine("G" + c + " /a HTTP/1.1"),
            "byte " + (int) c);
      }
    }
  }

  @Test
  void shouldTakeOnlyVisibleAsciiAsATarget() {
    for (char c = 1; c < 0x100; c++) {
      if (c != ' ' && c != '\n') {
        assertEquals(
            c > ' ' && c < 0x7f ? null : "invalid character in the target",
            requestLine("GET /" + c + " HTTP/1.1"),
            "byte " + (int) c);
      }
    }
    assertNull(requestLine("GET x HTTP/1.1"));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"GET", "GET ", "GET /", " ", "  HTTP/1.1", " / HTTP/1.1", "GET  HTTP/1.1", "x"})
  void shouldRefuseALineWithoutMethodTargetAndVersion(String line) {
    assertEquals(NO_REQUEST_LINE, requestLine(line));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "GET / ",
        "GET / HTTP/1",
        "GET / HTTP/1.",
        "GET / HTTP/1.2",
        "GET / HTTP/1./",
        "GET / HTTP/1.11",
        "GET / HTTP/2.0",
        "GET / http/1.1",
        "GET / HTTP/1.1 ",
        "GET /a b HTTP/1.1"
      })
  void shouldRefuseVersionsOtherThanOneDotZeroAndOneDotOne(String line) {
    assertEquals(NO_VERSION, requestLine(line));
  }

  @Test
  void shouldTakeBothVersionsOfHttp1() {
    assertNull(requestLine("GET / HTTP/1.0"));
    assertNull(requestLine("GET / HTTP/1.1"));
    assertNull(requestLine("M x HTTP/1.1"));
  }

  /** A line feed alone ends no line; the first bytes of the buffer have nothing before them. */
  @Test
  void shouldRefuseALineThatDoesNotEndWithCarriageReturnAndLineFeed() {
    final ByteBuf bytes = Unpooled.copiedBuffer("\nX: y\n\rZ: y\r\n", StandardCharsets.US_ASCII);
    assertEquals(NO_LINE_END, HeadCheck.problem(bytes, 0, 0, true));
    assertEquals(NO_LINE_END, HeadCheck.problem(bytes, 1, 5, false));
    final ByteBuf empty = Unpooled.copiedBuffer("X: y\r\n\n", StandardCharsets.US_ASCII);
    assertEquals(NO_LINE_END, HeadCheck.problem(empty, 6, 6, false));
  }

  @Test
  void shouldTakeOnlyTokensAsTheNameOfAField() {
    for (char c = 1; c < 0x100; c++) {
      if (c != ':' && c != '\n') {
        assertEquals(
            TOKENS.indexOf(c) >= 0 ? null : "header field without a name before the colon",
            field("X" + c + ": y"),
            "byte " + (int) c);
      }
    }
    assertNull(field("X:"));
    assertNull(field("X::"));
  }

  @ParameterizedTest
  @ValueSource(strings = {": y", ":", "X", "Xname", " X: y", "\tX: y", "X : y"})
  void shouldRefuseAFieldWithoutANameBeforeAColon(String line) {
    assertEquals("header field without a name before the colon", field(line));
  }

  /** Text, blanks, tabs and bytes over 127 (RFC 9110 section 5.5); no control characters. */
  @Test
  void shouldRefuseControlCharactersInTheValueOfAField() {
    for (char c = 0; c < 0x100; c++) {
      if (c != '\n') {
        final boolean isAllowed = c >= ' ' && c != 0x7f || c == '\t';
        final String expected = isAllowed ? null : "invalid character in a header field";
        assertEquals(expected, field("X:" + c), "byte " + (int) c);
        assertEquals(expected, field("X: a" + c + "b"), "byte " + (int) c);
      }
    }
  }
}

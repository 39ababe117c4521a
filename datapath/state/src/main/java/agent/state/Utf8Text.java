package agent.state;

import java.io.IOException;
import java.io.Writer;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/**
 * Collects the output of a JSON generator as UTF-8 in memory, in parts that are never copied, so
 * that a large document needs its own size and no more. The form is exactly that of release 0.1.0:
 * an unpaired surrogate becomes an escape, so that no character is lost, and the digits of escapes
 * are upper case.
 */
final class Utf8Text extends Writer {
  private static final int FIRST_BYTES = 512;
  private static final int LARGEST_PART_BYTES = 1 << 20;
  private static final int MOST_BYTES_PER_CHARACTER = 6;
  private static final int UNICODE_ESCAPE_DIGITS = 4;

  private final int mostBytes;
  private final List<ByteBuffer> parts = new ArrayList<>();
  private long before;
  private byte[] bytes = new byte[FIRST_BYTES];
  private int length;
  private char high;
  private boolean afterBackslash;
  private int escapeDigits;

  Utf8Text(int mostBytes) {
    this.mostBytes = mostBytes;
  }

  /** Returns views of the bytes, in order and without a copy. */
  List<ByteBuffer> parts() {
    flushHigh();
    final List<ByteBuffer> all = new ArrayList<>(parts);
    all.add(ByteBuffer.wrap(bytes, 0, length));
    return all;
  }

  @Override
  public void write(char[] text, int offset, int count) throws IOException {
    final long most = (count + 1L) * MOST_BYTES_PER_CHARACTER;
    if (bytes.length - length < most) {
      nextPart(most);
    }
    int i = offset;
    while (i < offset + count) {
      if (high == 0 && !afterBackslash && escapeDigits == 0) {
        i = putPlain(text, i, offset + count);
      }
      if (i < offset + count) {
        put(text[i++]);
      }
    }
    if (before + length > mostBytes) {
      throw new IOException("the document has more than " + mostBytes + " bytes");
    }
  }

  private void nextPart(long most) {
    parts.add(ByteBuffer.wrap(bytes, 0, length));
    before += length;
    final int size = Math.min(LARGEST_PART_BYTES, 2 * bytes.length);
    bytes = new byte[(int) Math.max(size, most + MOST_BYTES_PER_CHARACTER)];
    length = 0;
  }

  /**
   * Writes a run of one-byte characters that are not part of an escape; returns the index after the
   * run.
   */
  private int putPlain(char[] text, int from, int to) {
    int i = from;
    int at = length;
    while (i < to && text[i] < 0x80 && text[i] != '\\') {
      bytes[at++] = (byte) text[i++];
    }
    length = at;
    return i;
  }

  private void put(char c) {
    if (high != 0 && Character.isLowSurrogate(c)) {
      putSupplementary(Character.toCodePoint(high, c));
      high = 0;
      return;
    }
    flushHigh();
    if (c < 0x80) {
      bytes[length++] = (byte) escapeDigit(c);
    } else if (c < 0x800) {
      bytes[length++] = (byte) (0xc0 | c >> 6);
      bytes[length++] = (byte) (0x80 | c & 0x3f);
    } else if (Character.isHighSurrogate(c)) {
      high = c;
    } else if (Character.isLowSurrogate(c)) {
      putEscape(c);
    } else {
      bytes[length++] = (byte) (0xe0 | c >> 12);
      bytes[length++] = (byte) (0x80 | c >> 6 & 0x3f);
      bytes[length++] = (byte) (0x80 | c & 0x3f);
    }
  }

  private void putSupplementary(int codePoint) {
    bytes[length++] = (byte) (0xf0 | codePoint >> 18);
    bytes[length++] = (byte) (0x80 | codePoint >> 12 & 0x3f);
    bytes[length++] = (byte) (0x80 | codePoint >> 6 & 0x3f);
    bytes[length++] = (byte) (0x80 | codePoint & 0x3f);
  }

  private void flushHigh() {
    if (high != 0) {
      putEscape(high);
      high = 0;
    }
  }

  private void putEscape(char c) {
    bytes[length++] = '\\';
    bytes[length++] = 'u';
    for (int shift = 12; shift >= 0; shift -= 4) {
      bytes[length++] = (byte) Character.toUpperCase(Character.forDigit(c >> shift & 0xf, 16));
    }
  }

  /** Returns the character, in upper case if it is a digit of an escape. */
  private char escapeDigit(char c) {
    if (escapeDigits > 0) {
      escapeDigits--;
      return Character.toUpperCase(c);
    }
    if (afterBackslash) {
      afterBackslash = false;
      escapeDigits = c == 'u' ? UNICODE_ESCAPE_DIGITS : 0;
    } else {
      afterBackslash = c == '\\';
    }
    return c;
  }

  @Override
  public void flush() {
    // nothing to do: the bytes are in memory
  }

  @Override
  public void close() {
    // nothing to do: the bytes are in memory
  }
}

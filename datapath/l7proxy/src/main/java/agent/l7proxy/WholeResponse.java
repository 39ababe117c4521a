package agent.l7proxy;

import io.netty.buffer.ByteBuf;

/**
 * Reads a response that has come as a whole and in exactly the bytes in which the proxy would write
 * it, such as most small ones: it needs not be decoded and encoded. In any doubt a response is none
 * of these.
 */
final class WholeResponse {
  private static final String VERSION = "HTTP/1.1 ";
  private static final String KEPT = "keep-alive\r\n";
  private static final int STATUS_DIGITS = 3;
  private static final int OK = 200;
  private static final int MOST_STATUS = 599;
  private static final int MOST_LENGTH_DIGITS = 9;
  private static final int NO_LENGTH = -1;

  private final ByteBuf bytes;
  private final int end;
  private int index;
  private int length = NO_LENGTH;

  /** The field of the connection, which is not passed on; no bytes: there is none. */
  private int cutFrom;

  private int cutEnd;

  private WholeResponse(ByteBuf bytes) {
    this.bytes = bytes;
    index = bytes.readerIndex();
    end = bytes.writerIndex();
  }

  /**
   * Returns the status of the only response that these bytes are, from which the field Connection
   * is removed; 0: they are no such response, and are not changed.
   */
  static int read(ByteBuf bytes) {
    return new WholeResponse(bytes).read();
  }

  private int read() {
    final int status = statusLine();
    if (status == 0) {
      return 0;
    }
    while (peek() != '\r') {
      if (!field()) {
        return 0;
      }
    }
    index++;
    if (next() != '\n' || end - index != length) {
      return 0;
    }
    cut();
    return status;
  }

  /** Returns the next byte; 0, which no head has: there is none. */
  private int next() {
    return index < end ? bytes.getUnsignedByte(index++) : 0;
  }

  private int peek() {
    return index < end ? bytes.getUnsignedByte(index) : 0;
  }

  private boolean isNext(String text) {
    for (int i = 0; i < text.length(); i++) {
      if (next() != text.charAt(i)) {
        return false;
      }
    }
    return true;
  }

  /** Returns the status of a response with a body; 0: of another one. */
  private int statusLine() {
    if (!isNext(VERSION)) {
      return 0;
    }
    int status = 0;
    for (int i = 0; i < STATUS_DIGITS; i++) {
      final int digit = next() - '0';
      if (digit < 0 || digit > 9) {
        return 0;
      }
      status = 10 * status + digit;
    }
    final boolean hasBody = status != 204 && status != 205 && status != 304;
    return status >= OK && status <= MOST_STATUS && hasBody && next() == ' ' && isValue()
        ? status
        : 0;
  }

  /** Returns whether what follows is visible text and the end of the line. */
  private boolean isText() {
    int last = 0;
    int c = next();
    while (c >= ' ' && c < 0x7f) {
      last = c;
      c = next();
    }
    return c == '\r' && next() == '\n' && last > ' ';
  }

  /** Returns whether a field follows that is passed on as it is, or is to be cut. */
  private boolean field() {
    final int from = index;
    int c = next();
    while (HeadCheck.isToken(c)) {
      c = next();
    }
    final int nameLength = index - 1 - from;
    if (nameLength == 0 || c != ':' || next() != ' ') {
      return false;
    }
    return switch (nameLength) {
      case 7 -> !isName(from, "upgrade") && isValue();
      case 10 ->
          isName(from, "connection") ? isKept(from) : !isName(from, "keep-alive") && isValue();
      case 14 -> isName(from, "content-length") ? isLength() : isValue();
      case 16 -> !isName(from, "proxy-connection") && isValue();
      case 17 -> !isName(from, "transfer-encoding") && isValue();
      default -> isValue();
    };
  }

  /** Compares a token with a name in lower case. */
  private boolean isName(int from, String name) {
    for (int i = 0; i < name.length(); i++) {
      if ((bytes.getByte(from + i) | 0x20) != name.charAt(i)) {
        return false;
      }
    }
    return true;
  }

  private boolean isValue() {
    return peek() > ' ' && isText();
  }

  private boolean isKept(int from) {
    final boolean isFirst = cutEnd == 0;
    cutFrom = from;
    final boolean isKept = isFirst && isNext(KEPT);
    cutEnd = index;
    return isKept;
  }

  private boolean isLength() {
    if (length != NO_LENGTH) {
      return false;
    }
    final boolean isZero = peek() == '0';
    int value = 0;
    int digits = 0;
    int c = next();
    while (c >= '0' && c <= '9' && digits < MOST_LENGTH_DIGITS) {
      value = 10 * value + c - '0';
      digits++;
      c = next();
    }
    length = value;
    return (digits == 1 || digits > 1 && !isZero) && c == '\r' && next() == '\n';
  }

  /**
   * Moves what stands before the field of the connection, which is longer than a word, behind it.
   */
  private void cut() {
    if (cutEnd == 0) {
      return;
    }
    int source = cutFrom;
    int target = cutEnd;
    while (source - bytes.readerIndex() >= Long.BYTES) {
      source -= Long.BYTES;
      target -= Long.BYTES;
      bytes.setLong(target, bytes.getLong(source));
    }
    while (source > bytes.readerIndex()) {
      source--;
      target--;
      bytes.setByte(target, bytes.getByte(source));
    }
    bytes.readerIndex(target);
  }
}

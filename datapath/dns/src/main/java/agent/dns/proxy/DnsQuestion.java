package agent.dns.proxy;

import java.io.IOException;
import java.util.Arrays;
import java.util.Locale;
import org.xbill.DNS.DClass;
import org.xbill.DNS.Message;
import org.xbill.DNS.OPTRecord;
import org.xbill.DNS.Opcode;
import org.xbill.DNS.Rcode;
import org.xbill.DNS.Type;

/**
 * The question of a client, as it came (RFC 1035 section 4.1).
 *
 * <pre>
 *    0               2               4               6               12
 *   +---------------+---------------+---------------+---------------+----------------------+
 *   | identifier    | flags         | questions     | other counts  | name, type, class ...|
 *   +---------------+---------------+---------------+---------------+----------------------+
 * </pre>
 */
final class DnsQuestion {
  static final int HEADER_BYTES = 12;
  private static final int FLAGS_OFFSET = 2;
  private static final int QUESTIONS_OFFSET = 4;
  private static final int ADDITIONAL_OFFSET = 10;
  private static final int LONGEST_NAME = 255;
  private static final int LONGEST_LABEL = 63;
  private static final int TYPE_AND_CLASS_BYTES = 4;
  private static final int RESPONSE = 0x8000;
  private static final int OPCODE_BITS = 0x7800;
  private static final int RECURSION_DESIRED = 0x0100;
  private static final int RECURSION_AVAILABLE = 0x0080;
  private static final int PAYLOAD_BYTES = 1_232;

  /** The OPT record of a reply: root, type, size, extended code, version, flags, no options. */
  private static final byte[] OPT = {
    0, 0, Type.OPT, (byte) (PAYLOAD_BYTES >> 8), (byte) PAYLOAD_BYTES, 0, 0, 0, 0, 0, 0
  };

  private static final int OPT_FLAGS_OFFSET = 7;

  private final byte[] message;
  private final int end;
  private final int problem;
  private final String name;
  private final int type;
  private final OPTRecord opt;

  private DnsQuestion(byte[] message, int end, int problem, String name, int type, OPTRecord opt) {
    this.message = message;
    this.end = end;
    this.problem = problem;
    this.name = name;
    this.type = type;
    this.opt = opt;
  }

  /**
   * Reads a message of a client.
   *
   * @return the question; null where the message is none and gets no reply
   */
  static DnsQuestion read(byte[] message) {
    if (message.length < HEADER_BYTES || (short16(message, FLAGS_OFFSET) & RESPONSE) != 0) {
      return null;
    }
    final int opcode = (short16(message, FLAGS_OFFSET) & OPCODE_BITS) >> 11;
    if (opcode != Opcode.QUERY) {
      return refused(message, Rcode.NOTIMP);
    }
    final int end = short16(message, QUESTIONS_OFFSET) == 1 ? endOfQuestion(message) : -1;
    if (end < 0) {
      return refused(message, Rcode.FORMERR);
    }
    final Message parsed;
    try {
      parsed = new Message(message);
    } catch (IOException | RuntimeException malformed) {
      return refused(message, Rcode.FORMERR);
    }
    final var question = parsed.getQuestion();
    final String name = question.getName().toString().toLowerCase(Locale.ROOT);
    final int type = question.getType();
    // A transfer has many messages, and no client of a resolver asks for one.
    final boolean isTransfer = type == Type.AXFR || type == Type.IXFR;
    final int problem = isTransfer ? Rcode.REFUSED : Rcode.NOERROR;
    return new DnsQuestion(message, end, problem, name, type, parsed.getOPT());
  }

  private static DnsQuestion refused(byte[] message, int problem) {
    return new DnsQuestion(message, HEADER_BYTES, problem, ".", 0, null);
  }

  /** Returns the end of the first question, whose name is not compressed; -1: there is none. */
  private static int endOfQuestion(byte[] message) {
    int at = HEADER_BYTES;
    while (at < message.length && message[at] != 0) {
      final int length = message[at] & 0xff;
      at += 1 + length;
      if (length > LONGEST_LABEL || at - HEADER_BYTES >= LONGEST_NAME) {
        return -1;
      }
    }
    final int end = at + 1 + TYPE_AND_CLASS_BYTES;
    return end <= message.length ? end : -1;
  }

  static int short16(byte[] bytes, int offset) {
    return (bytes[offset] & 0xff) << 8 | bytes[offset + 1] & 0xff;
  }

  static void short16(byte[] bytes, int offset, int value) {
    bytes[offset] = (byte) (value >> 8);
    bytes[offset + 1] = (byte) value;
  }

  /** Returns {@code NOERROR}, or the code of the reply where it is not to be asked. */
  int problem() {
    return problem;
  }

  /** Returns the name in lower case, with a dot at the end. */
  String name() {
    return name;
  }

  /** Returns the name as rules compare it: without the dot at the end. */
  String policyName() {
    return name.substring(0, name.length() - 1);
  }

  int type() {
    return type;
  }

  /** Returns whether the answer may have addresses of the name. */
  boolean isInternet() {
    return short16(message, end - 2) == DClass.IN || short16(message, end - 2) == DClass.ANY;
  }

  /** Returns the message with another identifier. */
  byte[] withIdentifier(int identifier) {
    return withIdentifier(message, identifier);
  }

  /** Returns an answer of the server with the identifier of the client. */
  byte[] answered(byte[] answer) {
    return withIdentifier(answer, short16(message, 0));
  }

  private static byte[] withIdentifier(byte[] message, int identifier) {
    final byte[] copy = message.clone();
    short16(copy, 0, identifier);
    return copy;
  }

  /** Returns whether an answer is one to this question: name in the same case, type and class. */
  boolean isAnsweredBy(byte[] answer) {
    return answer.length >= end
        && (short16(answer, FLAGS_OFFSET) & RESPONSE) != 0
        && short16(answer, QUESTIONS_OFFSET) == 1
        && Arrays.equals(answer, HEADER_BYTES, end, message, HEADER_BYTES, end);
  }

  /** Returns the identifier of an answer; -1 where it is too short. */
  static int identifierOf(byte[] answer) {
    return answer.length < HEADER_BYTES ? -1 : short16(answer, 0);
  }

  static int codeOf(byte[] answer) {
    return short16(answer, FLAGS_OFFSET) & 0xf;
  }

  /** Returns the proxy's own reply, with an OPT record where the question has one (RFC 6891). */
  byte[] reply(int code) {
    final byte[] reply = Arrays.copyOf(message, end + (opt == null ? 0 : OPT.length));
    Arrays.fill(reply, QUESTIONS_OFFSET, HEADER_BYTES, (byte) 0);
    final int flags = short16(message, FLAGS_OFFSET) & (OPCODE_BITS | RECURSION_DESIRED);
    short16(reply, FLAGS_OFFSET, RESPONSE | flags | RECURSION_AVAILABLE | code);
    short16(reply, QUESTIONS_OFFSET, end > HEADER_BYTES ? 1 : 0);
    if (opt != null) {
      short16(reply, ADDITIONAL_OFFSET, 1);
      System.arraycopy(OPT, 0, reply, end, OPT.length);
      short16(reply, end + OPT_FLAGS_OFFSET, opt.getFlags());
    }
    return reply;
  }
}

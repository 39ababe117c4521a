package agent.dns.proxy;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.xbill.DNS.DClass;
import org.xbill.DNS.Message;
import org.xbill.DNS.Name;
import org.xbill.DNS.OPTRecord;
import org.xbill.DNS.Opcode;
import org.xbill.DNS.Rcode;
import org.xbill.DNS.Record;
import org.xbill.DNS.Section;
import org.xbill.DNS.Type;

/** What is read of a question, which answers are its own, and the replies of the proxy. */
class DnsQuestionTest {
  private static final String WWW = "www.example.com.";

  private static byte[] wire(String name, int type, int dclass) throws IOException {
    return Message.newQuery(Record.newRecord(Name.fromString(name), type, dclass)).toWire();
  }

  private static byte[] good() throws IOException {
    return wire(WWW, Type.A, DClass.IN);
  }

  private static byte[] answer(byte[] question) {
    final byte[] answer = question.clone();
    answer[2] |= (byte) 0x80;
    return answer;
  }

  @Test
  void shouldDropWhatHasNoHeaderOrIsAResponse() throws IOException {
    assertNull(DnsQuestion.read(Arrays.copyOf(good(), 11)));
    assertNull(DnsQuestion.read(answer(good())));
    assertEquals(-1, DnsQuestion.identifierOf(new byte[11]));
    final byte[] header = new byte[12];
    DnsQuestion.short16(header, 0, 0xfedc);
    assertEquals(0xfedc, DnsQuestion.identifierOf(header));
  }

  @Test
  void shouldReadTheNameInLowerCaseWithItsType() throws IOException {
    final DnsQuestion question = DnsQuestion.read(wire("wWw.Example.com.", Type.MX, DClass.IN));
    assertEquals(Rcode.NOERROR, question.problem());
    assertEquals(WWW, question.name());
    assertEquals("www.example.com", question.policyName());
    assertEquals(Type.MX, question.type());
    assertEquals("", DnsQuestion.read(wire(".", Type.NS, DClass.IN)).policyName());
  }

  @ParameterizedTest
  @CsvSource({"63, 0", "64, 1"})
  void shouldTakeLabelsOfUpTo63Bytes(int length, int code) throws IOException {
    final byte[] labels = new byte[length + 2];
    Arrays.fill(labels, (byte) 'a');
    labels[0] = (byte) length;
    labels[length + 1] = 0;
    assertEquals(code, DnsQuestion.read(named(labels)).problem());
  }

  /** A name has up to 255 bytes with the lengths of its labels and its end. */
  @ParameterizedTest
  @CsvSource({"61, 0", "62, 1"})
  void shouldTakeNamesOfUpTo255Bytes(int lastLabel, int code) throws IOException {
    final byte[] labels = new byte[3 * 64 + lastLabel + 2];
    Arrays.fill(labels, (byte) 'a');
    for (int i = 0; i < 3; i++) {
      labels[64 * i] = 63;
    }
    labels[192] = (byte) lastLabel;
    labels[labels.length - 1] = 0;
    assertEquals(code, DnsQuestion.read(named(labels)).problem());
  }

  private static byte[] named(byte[] labels) {
    final byte[] message = new byte[12 + labels.length + 4];
    message[5] = 1;
    System.arraycopy(labels, 0, message, 12, labels.length);
    message[message.length - 3] = Type.A;
    message[message.length - 1] = DClass.IN;
    return message;
  }

  @Test
  void shouldNotTakeANameThatIsCompressed() {
    assertEquals(Rcode.FORMERR, DnsQuestion.read(named(new byte[] {(byte) 0xc0, 12, 0})).problem());
  }

  @Test
  void shouldReplyToWhatEndsWithinItsNameOrLacksARecord() throws IOException {
    final byte[] open = new byte[14];
    open[5] = 1;
    open[12] = 1;
    open[13] = 'a';
    assertEquals(Rcode.FORMERR, DnsQuestion.read(open).problem());
    final byte[] lacking = good();
    lacking[11] = 1;
    assertEquals(Rcode.FORMERR, DnsQuestion.read(lacking).problem());
  }

  @ParameterizedTest
  @CsvSource({"251, 5", "252, 5", "1, 0", "255, 0"})
  void shouldRefuseTransfers(int type, int code) throws IOException {
    assertEquals(code, DnsQuestion.read(wire(WWW, type, DClass.IN)).problem());
  }

  @ParameterizedTest
  @CsvSource({"1, true", "255, true", "3, false"})
  void shouldExpectAddressesInTheClassOfTheInternetAlone(int dclass, boolean isInternet)
      throws IOException {
    assertEquals(isInternet, DnsQuestion.read(wire(WWW, Type.A, dclass)).isInternet());
  }

  @Test
  void shouldReplyToOtherOperationsThatThereAreNone() throws IOException {
    final Message update = new Message(0x4321);
    update.getHeader().setOpcode(Opcode.UPDATE);
    final DnsQuestion question = DnsQuestion.read(update.toWire());
    assertEquals(Rcode.NOTIMP, question.problem());
    final byte[] reply = question.reply(question.problem());
    assertEquals(12, reply.length);
    final Message read = new Message(reply);
    assertEquals(0x4321, read.getHeader().getID());
    assertEquals(Opcode.UPDATE, read.getHeader().getOpcode());
    assertEquals(Rcode.NOTIMP, read.getRcode());
    assertEquals(0, read.getHeader().getCount(Section.QUESTION));
  }

  @Test
  void shouldReplyWithTheQuestionAndWithoutWhatFollowsIt() throws IOException {
    final byte[] wire = good();
    final byte[] more = Arrays.copyOf(wire, wire.length + 3);
    more[3] |= 0x10; // checking disabled is not for the reply
    final byte[] reply = DnsQuestion.read(more).reply(Rcode.REFUSED);
    final byte[] wanted = wire.clone();
    wanted[2] = (byte) 0x81; // a response, recursion desired
    wanted[3] = (byte) 0x85; // recursion available, REFUSED
    assertArrayEquals(wanted, reply);
  }

  @Test
  void shouldReplyWithoutTheRecordsOfTheQuestion() throws IOException {
    final Message asked = Message.newQuery(Record.newRecord(Name.fromString(WWW), 1, DClass.IN));
    for (final int section : new int[] {Section.ANSWER, Section.AUTHORITY, Section.ADDITIONAL}) {
      asked.addRecord(
          Record.fromString(asked.getQuestion().getName(), 1, 1, 5, "192.0.2.1", Name.root),
          section);
    }
    final Message reply = new Message(DnsQuestion.read(asked.toWire()).reply(Rcode.REFUSED));
    assertEquals(1, reply.getHeader().getCount(Section.QUESTION));
    for (final int section : new int[] {Section.ANSWER, Section.AUTHORITY, Section.ADDITIONAL}) {
      assertEquals(0, reply.getHeader().getCount(section));
    }
  }

  @Test
  void shouldReplyWithAnOptRecordWhereTheQuestionHasOne() throws IOException {
    final Message asked = Message.newQuery(Record.newRecord(Name.fromString(WWW), 1, DClass.IN));
    asked.addRecord(new OPTRecord(4_000, 0, 0, 0x8001), Section.ADDITIONAL);
    final Message reply = new Message(DnsQuestion.read(asked.toWire()).reply(Rcode.SERVFAIL));
    assertEquals(Rcode.SERVFAIL, reply.getRcode());
    assertEquals(1_232, reply.getOPT().getPayloadSize());
    assertEquals(0x8001, reply.getOPT().getFlags());
    assertEquals(0, reply.getOPT().getVersion());
    assertEquals(asked.getQuestion(), reply.getQuestion());
  }

  @Test
  void shouldTakeAsItsAnswerTheResponseWithItsQuestionAlone() throws IOException {
    final byte[] wire = good();
    final DnsQuestion question = DnsQuestion.read(wire);
    final byte[] answer = answer(wire);
    assertTrue(question.isAnsweredBy(answer));
    assertTrue(question.isAnsweredBy(Arrays.copyOf(answer, answer.length + 5)));
    assertFalse(question.isAnsweredBy(Arrays.copyOf(answer, answer.length - 1)));
    assertFalse(question.isAnsweredBy(wire), "a question");
    for (int i = 12; i < answer.length; i++) {
      final byte[] other = answer.clone();
      other[i]++;
      assertFalse(question.isAnsweredBy(other), "byte " + i);
    }
    for (final int count : new int[] {0, 2, 0x101}) {
      final byte[] other = answer.clone();
      DnsQuestion.short16(other, 4, count);
      assertFalse(question.isAnsweredBy(other), count + " questions");
    }
  }

  @Test
  void shouldGiveMessagesTheIdentifierOfTheirReader() throws IOException {
    final byte[] wire = good();
    DnsQuestion.short16(wire, 0, 0x1234);
    final DnsQuestion question = DnsQuestion.read(wire);
    final byte[] sent = question.withIdentifier(0xabcd);
    assertEquals(0xabcd, DnsQuestion.identifierOf(sent));
    assertArrayEquals(
        Arrays.copyOfRange(wire, 2, wire.length), Arrays.copyOfRange(sent, 2, sent.length));
    assertArrayEquals(wire, question.answered(sent));
    assertEquals(0xabcd, DnsQuestion.identifierOf(sent), "a copy");
    sent[3] = (byte) 0xf3;
    assertEquals(Rcode.NXDOMAIN, DnsQuestion.codeOf(sent));
  }
}

package agent.dns.proxy;

import agent.fuzz.FuzzInputs;
import java.io.IOException;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import org.xbill.DNS.Message;
import org.xbill.DNS.Rcode;

/** Messages of DNS clients. The name that is judged is that of the reply, and of the question. */
public final class DnsQuestionFuzz {
  /** Questions for an address, with EDNS, of a compressed name, for a transfer, and an answer. */
  public static final List<byte[]> SEEDS =
      List.of(
          message("12340100000100000000000003777777076578616D706C6503636F6D0000010001"),
          message(
              "12340100000100000000000103577757076578616D706C6503636F6D00001C0001"
                  + "00002904D0000080000000"),
          message("12340100000100000000000003777777C00C00010001"),
          message("12340100000100000000000003777777076578616D706C6503636F6D0000FC0001"),
          message("12348180000100000000000003777777076578616D706C6503636F6D0000010001"),
          message("1234010000010000000000000000010001"));

  private DnsQuestionFuzz() {}

  private static byte[] message(String hex) {
    return HexFormat.of().parseHex(hex);
  }

  /** Reads a message, and reads the reply to it. */
  public static void fuzzerTestOneInput(byte[] input) throws IOException {
    final DnsQuestion question = DnsQuestion.read(input);
    if (question == null) {
      return;
    }
    final String text = HexFormat.of().formatHex(input);
    final byte[] bytes = question.reply(Rcode.REFUSED);
    final Message reply = new Message(bytes);
    FuzzInputs.assertSame(DnsQuestion.identifierOf(input), reply.getHeader().getID(), text);
    FuzzInputs.assertSame(Rcode.REFUSED, reply.getRcode(), text);
    if (question.problem() != Rcode.NOERROR) {
      return;
    }
    final Message asked = new Message(input);
    FuzzInputs.assertSame(asked.getQuestion(), reply.getQuestion(), text);
    FuzzInputs.assertSame(asked.getOPT() == null, reply.getOPT() == null, text);
    FuzzInputs.assertSame(
        asked.getQuestion().getName().toString().toLowerCase(Locale.ROOT), question.name(), text);
    FuzzInputs.assertSame(question.policyName() + ".", question.name(), text);
    FuzzInputs.assertSame(asked.getQuestion().getType(), question.type(), text);
    FuzzInputs.assertSame(true, question.isAnsweredBy(bytes), text);
    final byte[] forwarded = question.withIdentifier(0xabcd);
    FuzzInputs.assertSame(0xabcd, DnsQuestion.identifierOf(forwarded), text);
    FuzzInputs.assertSame(
        true, Arrays.equals(forwarded, 2, forwarded.length, input, 2, input.length), text);
  }
}

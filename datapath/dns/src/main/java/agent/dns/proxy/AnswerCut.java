package agent.dns.proxy;

import agent.types.IpAddress;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.Set;
import org.xbill.DNS.Message;
import org.xbill.DNS.Record;
import org.xbill.DNS.Section;
import org.xbill.DNS.Type;

/** Removes addresses from an answer. */
final class AnswerCut {
  private static final int[] SECTIONS = {Section.ANSWER, Section.ADDITIONAL};

  private AnswerCut() {}

  /**
   * Returns an answer with these addresses alone; its other records stay.
   *
   * @param answer a message that can be read
   */
  static byte[] of(byte[] answer, Set<IpAddress> addresses) {
    try {
      final Message message = new Message(answer);
      for (final int section : SECTIONS) {
        for (final Record record : List.copyOf(message.getSection(section))) {
          final boolean isAddress = record.getType() == Type.A || record.getType() == Type.AAAA;
          if (isAddress && !addresses.contains(IpAddress.of(record.rdataToWireCanonical()))) {
            message.removeRecord(record, section);
          }
        }
      }
      return message.toWire();
    } catch (IOException malformed) {
      throw new UncheckedIOException(malformed); // it was read before
    }
  }
}

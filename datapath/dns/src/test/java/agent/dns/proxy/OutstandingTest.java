package agent.dns.proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Questions at a server and their identifiers; what an endpoint has in use. */
class OutstandingTest {
  private static final int MOST = 4_096;

  private final Outstanding.Identifiers identifiers = new Outstanding.Identifiers();
  private final Outstanding outstanding = new Outstanding(identifiers);

  private static DnsExchange exchange() throws IOException {
    final DnsQuestion question = DnsQuestion.read(ProxyRig.question("www.example.com."));
    return new DnsExchange(null, question, new EndpointUse(), null);
  }

  private static byte[] answerTo(DnsExchange exchange) {
    final byte[] answer = exchange.question.withIdentifier(exchange.identifier);
    answer[2] |= (byte) 0x80;
    return answer;
  }

  @Test
  void shouldGiveEachQuestionAnIdentifierOfItsOwnUpToTheLimit() throws IOException {
    final Set<Integer> given = new HashSet<>();
    for (int i = 0; i < MOST; i++) {
      final DnsExchange exchange = exchange();
      assertTrue(outstanding.add(exchange));
      assertTrue(given.add(exchange.identifier));
    }
    assertFalse(outstanding.add(exchange()));
    final List<DnsExchange> seen = new ArrayList<>();
    outstanding.forEach(seen::add);
    assertEquals(MOST, seen.size());
  }

  @Test
  void shouldDrawNumbersOf16BitsAfresh() {
    final List<Integer> first = new ArrayList<>();
    final List<Integer> second = new ArrayList<>();
    for (int i = 0; i < 512; i++) {
      first.add(identifiers.next());
    }
    for (int i = 0; i < 512; i++) {
      second.add(identifiers.next());
    }
    assertNotEquals(first, second);
    assertTrue(new HashSet<>(first).size() > 480, first.toString());
    assertTrue(first.stream().anyMatch(number -> number > 0x8000));
    assertTrue(first.stream().allMatch(number -> number >= 0 && number <= 0xffff));
  }

  @Test
  void shouldFindTheQuestionOfAnAnswerOnce() throws IOException {
    final DnsExchange exchange = exchange();
    outstanding.add(exchange);
    final byte[] answer = answerTo(exchange);
    final byte[] other = answer.clone();
    other[1] ^= 1;
    assertNull(outstanding.answered(other));
    other[1] ^= 1;
    other[13] ^= 0x20;
    assertNull(outstanding.answered(other), "another case of the name");
    assertNull(outstanding.answered(new byte[3]));
    assertSame(exchange, outstanding.answered(answer));
    assertNull(outstanding.answered(answer));
    assertTrue(outstanding.isEmpty());
  }

  @Test
  void shouldForgetTheQuestionThatIsMeantAndNoOther() throws IOException {
    final DnsExchange exchange = exchange();
    outstanding.add(exchange);
    final DnsExchange other = exchange();
    other.identifier = exchange.identifier;
    outstanding.remove(other);
    assertFalse(outstanding.isEmpty());
    outstanding.remove(exchange);
    assertTrue(outstanding.isEmpty());
  }

  @Test
  void shouldHandOutAllAtTheEnd() throws IOException {
    final DnsExchange exchange = exchange();
    outstanding.add(exchange);
    assertEquals(List.of(exchange), outstanding.takeAll());
    assertTrue(outstanding.isEmpty());
    assertEquals(List.of(), outstanding.takeAll());
  }

  @Test
  void shouldForgetEndpointsThatUseNothing() {
    final EndpointUse.Table table = new EndpointUse.Table();
    final EndpointUse questions = table.of(1);
    questions.questions = 1;
    final EndpointUse sockets = table.of(2);
    sockets.sockets = 1;
    final EndpointUse connections = table.of(3);
    connections.connections = 1;
    final EndpointUse unused = table.of(4);
    assertSame(unused, table.of(4));
    table.clean();
    assertSame(questions, table.of(1));
    assertSame(sockets, table.of(2));
    assertSame(connections, table.of(3));
    assertFalse(unused == table.of(4));
  }
}

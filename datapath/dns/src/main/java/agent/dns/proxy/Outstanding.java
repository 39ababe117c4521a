package agent.dns.proxy;

import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/**
 * The questions at one server that have no answer, by random identifier (RFC 5452 section 9.2).
 * Used in turn ({@link ProxyLoop}).
 */
final class Outstanding {
  /** With so many, an identifier that is free is still found at once. */
  private static final int MOST = 4_096;

  private final Map<Integer, DnsExchange> exchanges = new HashMap<>();
  private final Identifiers identifiers;

  /** Random numbers of 16 bits. */
  static final class Identifiers {
    private final SecureRandom random = new SecureRandom();
    private final byte[] drawn = new byte[1_024];
    private int at = drawn.length;

    int next() {
      if (at == drawn.length) {
        random.nextBytes(drawn);
        at = 0;
      }
      at += 2;
      return DnsQuestion.short16(drawn, at - 2);
    }
  }

  Outstanding(Identifiers identifiers) {
    this.identifiers = identifiers;
  }

  /** Assigns a question its identifier; returns false where there are too many. */
  boolean add(DnsExchange exchange) {
    if (exchanges.size() >= MOST) {
      return false;
    }
    int identifier = identifiers.next();
    while (exchanges.containsKey(identifier)) {
      identifier = identifiers.next();
    }
    exchange.identifier = identifier;
    exchanges.put(identifier, exchange);
    return true;
  }

  /** Returns the question that a message answers, which has its answer now; null: none. */
  DnsExchange answered(byte[] message) {
    final int identifier = DnsQuestion.identifierOf(message);
    final DnsExchange exchange = exchanges.get(identifier);
    if (exchange == null || !exchange.question.isAnsweredBy(message)) {
      return null;
    }
    exchanges.remove(identifier);
    return exchange;
  }

  void remove(DnsExchange exchange) {
    exchanges.remove(exchange.identifier, exchange);
  }

  void forEach(Consumer<DnsExchange> action) {
    exchanges.values().forEach(action);
  }

  boolean isEmpty() {
    return exchanges.isEmpty();
  }

  /** Returns all questions, which are not outstanding any more. */
  List<DnsExchange> takeAll() {
    final List<DnsExchange> all = new ArrayList<>(exchanges.values());
    exchanges.clear();
    return all;
  }
}

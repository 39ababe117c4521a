package agent.dns;

import agent.types.IpAddress;
import agent.types.OperationException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import org.xbill.DNS.AAAARecord;
import org.xbill.DNS.ARecord;
import org.xbill.DNS.CNAMERecord;
import org.xbill.DNS.DClass;
import org.xbill.DNS.Message;
import org.xbill.DNS.Name;
import org.xbill.DNS.Rcode;
import org.xbill.DNS.Record;
import org.xbill.DNS.Section;
import org.xbill.DNS.SimpleResolver;
import org.xbill.DNS.TextParseException;
import org.xbill.DNS.Type;

/**
 * Asks recursive DNS servers for the addresses of a name, one server after the other until one
 * answers. Over UDP, and over TCP where an answer is truncated (RFC 7766).
 */
public final class DnsNameResolver implements NameResolver {
  private final Supplier<List<InetSocketAddress>> servers;
  private final List<Integer> types;
  private final Duration timeout;
  private final Map<InetSocketAddress, SimpleResolver> resolvers = new ConcurrentHashMap<>();

  /**
   * Creates a resolver.
   *
   * @param servers returns the servers in the order in which they are asked
   * @param ipv4 whether IPv4 addresses are wanted
   * @param ipv6 whether IPv6 addresses are wanted
   * @param timeout how long one server has for an answer
   */
  public DnsNameResolver(
      Supplier<List<InetSocketAddress>> servers, boolean ipv4, boolean ipv6, Duration timeout) {
    this.servers = servers;
    this.timeout = timeout;
    types = new ArrayList<>();
    if (ipv4) {
      types.add(Type.A);
    }
    if (ipv6) {
      types.add(Type.AAAA);
    }
  }

  @Override
  public CompletableFuture<Resolved> resolve(String name) {
    final List<InetSocketAddress> asked = servers.get();
    CompletableFuture<Resolved> all =
        CompletableFuture.completedFuture(new Resolved(List.of(), Long.MAX_VALUE));
    for (final int type : types) {
      final CompletableFuture<Resolved> one =
          ask(name, type, asked, 0, "no DNS server is configured");
      all = all.thenCombine(one, DnsNameResolver::together);
    }
    return all.thenApply(found -> found.addresses().isEmpty() ? new Resolved(List.of(), 0) : found);
  }

  private static Resolved together(Resolved one, Resolved other) {
    final List<IpAddress> addresses = new ArrayList<>(one.addresses());
    addresses.addAll(other.addresses());
    final Set<String> aliases = new LinkedHashSet<>(one.aliases());
    aliases.addAll(other.aliases());
    return new Resolved(addresses, Math.min(one.ttlSec(), other.ttlSec()), List.copyOf(aliases));
  }

  private CompletableFuture<Resolved> ask(
      String name, int type, List<InetSocketAddress> asked, int index, String lastFailure) {
    if (index == asked.size()) {
      return CompletableFuture.failedFuture(
          new OperationException("%s %s: %s".formatted(name, Type.string(type), lastFailure)));
    }
    final InetSocketAddress server = asked.get(index);
    final Message query;
    try {
      query = Message.newQuery(Record.newRecord(Name.fromString(name), type, DClass.IN));
    } catch (TextParseException e) {
      return CompletableFuture.failedFuture(new OperationException(name + ": " + e.getMessage()));
    }
    return resolver(server)
        .sendAsync(query)
        .toCompletableFuture()
        .handle(
            (answer, failure) -> {
              final String problem = problem(server, answer, failure);
              return problem == null
                  ? CompletableFuture.completedFuture(read(query.getQuestion().getName(), answer))
                  : ask(name, type, asked, index + 1, problem);
            })
        .thenCompose(next -> next);
  }

  private SimpleResolver resolver(InetSocketAddress server) {
    return resolvers.computeIfAbsent(
        server,
        address -> {
          final SimpleResolver resolver = new SimpleResolver(address);
          resolver.setTimeout(timeout);
          return resolver;
        });
  }

  /** Returns what is wrong with an answer; null where it says which addresses there are. */
  static String problem(InetSocketAddress server, Message answer, Throwable failure) {
    final String from = server.getAddress().getHostAddress() + " port " + server.getPort() + ": ";
    if (failure != null) {
      final Throwable cause = failure instanceof CompletionException ? failure.getCause() : failure;
      final boolean hasReason = cause instanceof IOException && cause.getMessage() != null;
      return from + (hasReason ? cause.getMessage() : "no answer");
    }
    final int code = answer.getRcode();
    return code == Rcode.NOERROR || code == Rcode.NXDOMAIN ? null : from + Rcode.string(code);
  }

  /**
   * Reads the addresses of a name from an answer, which has the aliases that lead to them. Of a
   * chain without an end there are none.
   */
  public static Resolved read(Name name, Message answer) {
    final List<Record> records = answer.getSection(Section.ANSWER);
    long ttlSec = Long.MAX_VALUE;
    Name at = name;
    CNAMERecord alias = alias(at, records);
    final Set<String> aliases = new LinkedHashSet<>();
    while (alias != null) {
      ttlSec = Math.min(ttlSec, alias.getTTL());
      at = alias.getTarget();
      if (!aliases.add(at.toString().toLowerCase(Locale.ROOT))) {
        return new Resolved(List.of(), ttlSec);
      }
      alias = alias(at, records);
    }
    final List<IpAddress> addresses = new ArrayList<>();
    for (final Record record : records) {
      if (record.getName().equals(at) && isInternet(record) && isAddress(record)) {
        final IpAddress address = IpAddress.of(record.rdataToWireCanonical());
        if (!address.isOfHost()) {
          continue; // no server outside can have it
        }
        addresses.add(address);
        ttlSec = Math.min(ttlSec, record.getTTL());
      }
    }
    return new Resolved(addresses, ttlSec, List.copyOf(aliases));
  }

  /** The data of other classes has another meaning (RFC 1035 section 3.2.4). */
  private static boolean isInternet(Record record) {
    return record.getDClass() == DClass.IN;
  }

  private static CNAMERecord alias(Name name, List<Record> records) {
    for (final Record record : records) {
      if (record instanceof CNAMERecord alias
          && isInternet(record)
          && alias.getName().equals(name)) {
        return alias;
      }
    }
    return null;
  }

  private static boolean isAddress(Record record) {
    return record instanceof ARecord || record instanceof AAAARecord;
  }
}

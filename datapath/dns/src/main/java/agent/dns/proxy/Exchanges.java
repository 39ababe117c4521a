package agent.dns.proxy;

import agent.datapath.spec.RedirectedFlow;
import agent.dns.DnsNameResolver;
import agent.dns.NameResolver.Resolved;
import agent.dns.proxy.DnsExchange.Client;
import agent.dns.proxy.DnsObserver.Event;
import agent.dns.proxy.DnsObserver.Verdict;
import agent.maps.layout.PolicyDirection;
import agent.maps.layout.RedirectKind;
import agent.policy.request.RedirectCounters;
import agent.policy.request.RedirectCounters.Count;
import agent.policy.request.RedirectCounters.FlowCounters;
import agent.types.IpAddress;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.atomic.AtomicLongArray;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;
import org.xbill.DNS.Message;
import org.xbill.DNS.Rcode;

/**
 * The way of a question: policy, server, rules, client. Used in turn ({@link ProxyLoop}); any
 * thread may read the counters.
 */
final class Exchanges {
  private static final Logger LOGGER = LogManager.getLogger(Exchanges.class);

  /** Clients cause these lines, so that there is one in this time at most. */
  private static final long CUT_PAUSE_NS = Duration.ofMinutes(1).toNanos();

  private final DnsProxyContext context;
  private final ProxyLoop loop;
  private final EndpointUse.Table uses;
  private final AtomicLongArray counters = new AtomicLongArray(DnsCounter.values().length);
  private final RedirectCounters redirectCounters;

  /** Questions at servers and answers that wait for the rules, each in the order of deadlines. */
  private final Deque<DnsExchange> asked = new ArrayDeque<>();

  private final Deque<DnsExchange> held = new ArrayDeque<>();

  private long policyChanges;
  private boolean hasReportedCut;
  private long reportedCutNs;

  Exchanges(DnsProxyContext context, ProxyLoop loop, EndpointUse.Table uses) {
    this.context = context;
    this.loop = loop;
    this.uses = uses;
    redirectCounters = new RedirectCounters(context.policies(), RedirectKind.DNS);
  }

  void count(DnsCounter counter) {
    counters.lazySet(counter.ordinal(), counters.get(counter.ordinal()) + 1);
  }

  /** Counts what went wrong, and logs it. */
  void problem(DnsCounter counter, RedirectedFlow flow, String what) {
    count(counter);
    LOGGER.debug("DNS proxy: {}: {}", flow, what);
  }

  long counted(DnsCounter counter) {
    return counters.get(counter.ordinal());
  }

  RedirectCounters redirectCounters() {
    return redirectCounters;
  }

  /** Questions that have no answer yet are judged again before they get one. */
  void policiesChanged() {
    policyChanges++;
  }

  /** A client sent a message. */
  void onMessage(Client client, byte[] message) {
    count(DnsCounter.RECEIVED);
    final FlowCounters flow = redirectCounters.of(client.flow());
    flow.add(Count.REQUEST_RECEIVED);
    final DnsQuestion question = DnsQuestion.read(message);
    if (question == null) {
      problem(DnsCounter.ERROR, client.flow(), "the message is not a DNS query");
      flow.add(Count.REQUEST_ERROR);
      return;
    }
    final DnsExchange exchange =
        new DnsExchange(client, question, uses.of(client.flow().clientEndpoint()), flow);
    if (question.problem() != Rcode.NOERROR) {
      failed(exchange, question.problem(), "the query is malformed");
    } else if (!context.policies().dns(client.flow(), question.policyName())) {
      count(DnsCounter.DENIED);
      refuse(exchange, context.deniedCode(), Verdict.DENIED);
    } else if (!hasRoom(exchange.use)) {
      failed(exchange, Rcode.SERVFAIL, "too many outstanding queries");
    } else if (!ask(exchange)) {
      failed(exchange, Rcode.SERVFAIL, "the server cannot be reached");
    }
  }

  private boolean hasRoom(EndpointUse use) {
    return use.questions < context.limits().questionsOfEndpoint()
        && uses.all.questions < context.limits().questions();
  }

  private boolean ask(DnsExchange exchange) {
    exchange.upstream = exchange.client.upstream();
    if (exchange.upstream == null) {
      return false;
    }
    exchange.deadlineNs = loop.nowNs() + context.times().answer().toNanos();
    exchange.judged = policyChanges;
    outstanding(exchange, 1);
    if (!exchange.upstream.ask(exchange)) {
      exchange.isDone = true;
      outstanding(exchange, -1);
      return false;
    }
    asked.add(exchange);
    return true;
  }

  private void outstanding(DnsExchange exchange, int change) {
    exchange.use.questions += change;
    uses.all.questions += change;
    exchange.client.outstanding(change);
  }

  private void failed(DnsExchange exchange, int code, String what) {
    problem(DnsCounter.ERROR, exchange.client.flow(), what);
    refuse(exchange, code, Verdict.ERROR);
  }

  /** The proxy replies where no server was asked. */
  private void refuse(DnsExchange exchange, int code, Verdict verdict) {
    exchange.counters.add(verdict == Verdict.DENIED ? Count.REQUEST_DENIED : Count.REQUEST_ERROR);
    exchange.client.reply(exchange.question.reply(code));
    tell(exchange, code, verdict);
  }

  private void tell(DnsExchange exchange, int code, Verdict verdict) {
    final Resolved found = exchange.resolved;
    context
        .observer()
        .onQuestion(
            new Event(
                exchange.client.flow(),
                exchange.question.name(),
                exchange.question.type(),
                code,
                verdict,
                found.addresses(),
                found.ttlSec()));
  }

  /** The question was given to a socket that is connected to the server. */
  void onSent(DnsExchange exchange) {
    exchange.counters.add(Count.REQUEST_FORWARDED);
  }

  /** The server that was asked has answered this question. */
  void onAnswer(DnsExchange exchange, byte[] answer) {
    if (exchange.isDone) {
      count(DnsCounter.SPOOFED);
      return;
    }
    exchange.counters.add(Count.RESPONSE_RECEIVED);
    exchange.answer = answer;
    if (DnsQuestion.codeOf(answer) == Rcode.NOERROR && exchange.question.isInternet()) {
      try {
        final Message message = new Message(answer);
        final Resolved found = DnsNameResolver.read(message.getQuestion().getName(), message);
        exchange.resolved = found.addresses().isEmpty() ? DnsExchange.NO_ADDRESS : found;
      } catch (IOException | RuntimeException malformed) {
        fail(exchange, DnsCounter.ERROR, "the response is malformed");
        return;
      }
    }
    if (exchange.resolved.addresses().isEmpty() || !isAskedByRule(exchange.client.flow())) {
      release(exchange);
    } else {
      hold(exchange);
    }
  }

  /**
   * Returns whether a DNS rule of the client itself sends it here. The names that others learn,
   * such as those that ask a server with rules of its own, are of no use to any rule, and would
   * take the room of those that are.
   */
  private boolean isAskedByRule(RedirectedFlow flow) {
    return flow.clientEndpoint() != 0
        && context.policies().redirect(flow, PolicyDirection.EGRESS) == RedirectKind.DNS;
  }

  private void hold(DnsExchange exchange) {
    final int endpoint = exchange.client.flow().clientEndpoint();
    final CompletableFuture<Set<IpAddress>> enforced =
        context.gate().found(endpoint, exchange.question.name(), exchange.resolved);
    if (enforced.isDone()) {
      final boolean hasFailed = enforced.isCompletedExceptionally();
      onGate(
          exchange, hasFailed ? null : enforced.join(), hasFailed ? enforced.exceptionNow() : null);
      return;
    }
    exchange.deadlineNs = loop.nowNs() + context.times().enforcement().toNanos();
    held.add(exchange);
    enforced.whenComplete(
        (applied, failure) -> loop.tellPromptly(() -> onGate(exchange, applied, failure)));
  }

  private void onGate(DnsExchange exchange, Set<IpAddress> applied, Throwable failure) {
    final Throwable cause = failure instanceof CompletionException ? failure.getCause() : failure;
    if (cause instanceof DeniedNameException) {
      deny(exchange);
    } else {
      onEnforced(exchange, failure == null ? applied : Set.of());
    }
  }

  /** An answer of which rules use no address is not released. */
  private void onEnforced(DnsExchange exchange, Set<IpAddress> applied) {
    if (exchange.isDone) {
      return;
    }
    if (applied.isEmpty()) {
      fail(exchange, DnsCounter.UNENFORCED, "the addresses cannot be used in rules");
      return;
    }
    if (!applied.containsAll(exchange.resolved.addresses())) {
      cut(exchange, applied);
    }
    release(exchange);
  }

  private void cut(DnsExchange exchange, Set<IpAddress> applied) {
    final Resolved all = exchange.resolved;
    final List<IpAddress> left = all.addresses().stream().filter(applied::contains).toList();
    exchange.answer = AnswerCut.of(exchange.answer, applied);
    exchange.resolved = new Resolved(left, all.ttlSec(), all.aliases());
    count(DnsCounter.CUT);
    final long nowNs = loop.nowNs();
    if (!hasReportedCut || nowNs - reportedCutNs >= CUT_PAUSE_NS) {
      hasReportedCut = true;
      reportedCutNs = nowNs;
      LOGGER.warn(
          "endpoint {}: answer for {} cut to the {} of {} addresses that are in force; {} answers cut"
              + " so far",
          exchange.client.flow().clientEndpoint(),
          exchange.question.name(),
          left.size(),
          all.addresses().size(),
          counted(DnsCounter.CUT));
    }
  }

  private boolean isStillAllowed(DnsExchange exchange) {
    if (exchange.judged == policyChanges) {
      return true;
    }
    exchange.client.refresh();
    return context.policies().dns(exchange.client.flow(), exchange.question.policyName());
  }

  private void release(DnsExchange exchange) {
    if (!isStillAllowed(exchange)) {
      deny(exchange);
      return;
    }
    final byte[] answer = exchange.answer;
    count(DnsCounter.FORWARDED);
    exchange.counters.add(Count.RESPONSE_FORWARDED);
    exchange.client.reply(exchange.question.answered(answer));
    end(exchange, DnsQuestion.codeOf(answer), Verdict.FORWARDED);
  }

  private void deny(DnsExchange exchange) {
    if (!exchange.isDone) {
      count(DnsCounter.DENIED);
      exchange.counters.add(Count.REQUEST_DENIED);
      exchange.client.reply(exchange.question.reply(context.deniedCode()));
      end(exchange, context.deniedCode(), Verdict.DENIED);
    }
  }

  /** The server cannot be asked, or has gone. */
  void onServerFailed(DnsExchange exchange) {
    if (!exchange.isDone) {
      fail(exchange, DnsCounter.ERROR, "the server cannot be reached, or closed the connection");
    }
  }

  private void fail(DnsExchange exchange, DnsCounter counter, String what) {
    problem(counter, exchange.client.flow(), what);
    exchange.counters.add(Count.RESPONSE_ERROR);
    exchange.client.reply(exchange.question.reply(Rcode.SERVFAIL));
    end(exchange, Rcode.SERVFAIL, Verdict.ERROR);
  }

  private void end(DnsExchange exchange, int code, Verdict verdict) {
    exchange.isDone = true;
    outstanding(exchange, -1);
    tell(exchange, code, verdict);
    exchange.clear();
  }

  /** Ends what has waited too long. */
  void expire() {
    for (DnsExchange next = due(asked); next != null; next = due(asked)) {
      problem(DnsCounter.TIMED_OUT, next.client.flow(), "the server did not respond in time");
      next.counters.add(Count.RESPONSE_ERROR);
      next.upstream.forget(next);
      end(next, -1, Verdict.ERROR);
    }
    for (DnsExchange next = due(held); next != null; next = due(held)) {
      fail(next, DnsCounter.UNENFORCED, "the addresses were not in force in time");
    }
    uses.clean();
  }

  /** Removes those at the head that have ended, and returns one whose deadline has passed. */
  private DnsExchange due(Deque<DnsExchange> queue) {
    for (DnsExchange next = queue.peek(); next != null; next = queue.peek()) {
      final boolean isOver = next.isDone || queue == asked && next.answer != null;
      if (!isOver && next.deadlineNs - loop.nowNs() > 0) {
        return null;
      }
      queue.poll();
      if (!isOver) {
        return next;
      }
    }
    return null;
  }
}

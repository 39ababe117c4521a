package agent.dns.proxy;

import agent.benchmarks.AllocatesNothing;
import agent.datapath.spec.RedirectedFlow;
import agent.policy.request.RequestPolicies;
import agent.policy.resolve.BenchmarkPolicy;
import java.io.IOException;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.xbill.DNS.DClass;
import org.xbill.DNS.Message;
import org.xbill.DNS.Name;
import org.xbill.DNS.Record;
import org.xbill.DNS.Type;

/** Measures what the DNS proxy does with a question before it asks the server. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class DnsJudgeBenchmark {
  private static final int UDP = 17;
  private static final String RULES =
      """
      [{"endpointSelector":{"matchLabels":{"app":"web"}},
        "egress":[{"toEndpoints":[{"matchLabels":{"app":"shop"}}],
          "toPorts":[{"ports":[{"port":"53","protocol":"UDP"}],
            "rules":{"dns":[{"matchName":"www.example.org"},
              {"matchPattern":"*.example.com"}]}}]}]}]
      """;

  private RequestPolicies policies;
  private RedirectedFlow flow;
  private byte[] message;

  /** Adds the rules and writes a question. */
  @Setup
  public void add() throws IOException {
    final BenchmarkPolicy policy = new BenchmarkPolicy();
    policy.add(RULES);
    policies = policy.requests();
    flow = policy.flowToServer(UDP, 53);
    message =
        Message.newQuery(Record.newRecord(Name.fromString("wWw.Example.com."), Type.A, DClass.IN))
            .toWire();
    if (!readAndJudge() || judgeDenied()) {
      throw new IllegalStateException("wrong verdicts");
    }
  }

  /** Reads a question. */
  @Benchmark
  public Object read() {
    return DnsQuestion.read(message);
  }

  /** Judges a name that a pattern allows. */
  @Benchmark
  @AllocatesNothing
  public boolean judgeAllowed() {
    return policies.dns(flow, "www.example.com");
  }

  /** Judges a name that no rule allows. */
  @Benchmark
  @AllocatesNothing
  public boolean judgeDenied() {
    return policies.dns(flow, "www.example.net");
  }

  /** Reads a question and judges its name. */
  @Benchmark
  public boolean readAndJudge() {
    return policies.dns(flow, DnsQuestion.read(message).policyName());
  }
}

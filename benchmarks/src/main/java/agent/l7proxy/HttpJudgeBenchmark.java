package agent.l7proxy;

import agent.benchmarks.AllocatesNothing;
import agent.datapath.spec.RedirectedFlow;
import agent.policy.request.HttpVerdict;
import agent.policy.request.RequestPolicies;
import agent.policy.resolve.BenchmarkPolicy;
import io.netty.handler.codec.http.DefaultHttpRequest;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpVersion;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/**
 * Measures what the HTTP proxy does with the head of a request: its normal form and the verdict.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class HttpJudgeBenchmark {
  private static final int TCP = 6;
  private static final String RULES =
      """
      [{"endpointSelector":{"matchLabels":{"app":"shop"}},
        "ingress":[{"fromEndpoints":[{"matchLabels":{"app":"web"}}],
          "toPorts":[{"ports":[{"port":"80","protocol":"TCP"}],
            "rules":{"http":[
              {"method":"GET|HEAD","path":"/public/.*"},
              {"method":"PUT","path":"/orders/[0-9]+","host":"shop\\\\.example\\\\.com"}]}}]}]}]
      """;

  private RequestPolicies policies;
  private RedirectedFlow flow;
  private DefaultHttpRequest allowedHead;
  private JudgedRequest allowed;
  private JudgedRequest denied;

  /** Adds the rules and reads two requests. */
  @Setup
  public void add() throws BadRequestException {
    final BenchmarkPolicy policy = new BenchmarkPolicy();
    policy.add(RULES);
    policies = policy.requests();
    flow = policy.flowToServer(TCP, 80);
    allowedHead = head("/orders/4711");
    allowed = read(allowedHead);
    denied = read(head("/orders/none"));
    if (!judgeAllowed().allowed() || judgeDenied().allowed()) {
      throw new IllegalStateException("wrong verdicts");
    }
  }

  private static DefaultHttpRequest head(String path) {
    final DefaultHttpRequest head =
        new DefaultHttpRequest(HttpVersion.HTTP_1_1, HttpMethod.PUT, path);
    head.headers().set("Host", "shop.example.com").set("User-Agent", "bench/1.0");
    head.headers().set("Accept", "*/*").set("Content-Length", "2").set("X-Request-Id", "4711");
    return head;
  }

  private static JudgedRequest read(DefaultHttpRequest head) throws BadRequestException {
    return JudgedRequest.of(head, false, false, EscapedSlashes.REJECT);
  }

  /** Brings a decoded head into the normal form. */
  @Benchmark
  public Object read() throws BadRequestException {
    return read(allowedHead);
  }

  /** Judges a request that the second of two rules allows. */
  @Benchmark
  @AllocatesNothing
  public HttpVerdict judgeAllowed() {
    return policies.http(flow, allowed);
  }

  /** Judges a request that no rule allows. */
  @Benchmark
  @AllocatesNothing
  public HttpVerdict judgeDenied() {
    return policies.http(flow, denied);
  }
}

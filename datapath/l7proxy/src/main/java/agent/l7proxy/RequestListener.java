package agent.l7proxy;

/** Hears of each request that has ended, such as a monitor. */
@FunctionalInterface
public interface RequestListener {
  /** Called on an event loop of the proxy: it does not wait and does not throw. */
  void onRequest(RequestRecord request);
}

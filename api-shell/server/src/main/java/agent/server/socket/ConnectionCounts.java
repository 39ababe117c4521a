package agent.server.socket;

/**
 * The connections of clients.
 *
 * @param open connections that are open now
 * @param inUse those of them on which a request is at work
 * @param limit most connections that are open at one time
 * @param closedIdle connections that were closed because they were idle and a new client waited
 * @param isFull whether a new client waits now, and all connections are in use
 */
public record ConnectionCounts(int open, int inUse, int limit, long closedIdle, boolean isFull) {}

/** The API of endpoints and policy, and {@code ep-conductor}, the thread that owns both. */
package agent.endpoint;

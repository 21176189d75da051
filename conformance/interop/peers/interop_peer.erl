%% A TLS echo server and a stdin/stdout TLS client over Erlang's ssl. The command line is described in
%% src/programs/driver.rs.
-module(interop_peer).
-export([main/0]).

-define(WORDS, <<"0123\n">>).

main() ->
    [Command | Arguments] = init:get_plain_arguments(),
    %% The errors contain what the log would say about alerts.
    logger:set_primary_config(level, none),
    {ok, _} = application:ensure_all_started(ssl),
    Options = options(Arguments, #{}),
    try
        case Command of
            "abilities" -> abilities();
            "serve" -> serve(Options);
            "connect" -> connect(Options)
        end
    catch
        _:Reason -> fail(Reason)
    end,
    halt(0, [{flush, true}]).

options(["--" ++ Name, Value | Rest], Options) -> options(Rest, Options#{Name => Value});
options([], Options) -> Options.

abilities() ->
    %% Erlang supports Ed25519 in TLS 1.3 only, and does not offer secp521r1 by default.
    out("keys rsa2048 p256 p384\n"
        "groups x25519 secp256r1 secp384r1\n"
        "groups1.2 secp256r1 secp384r1\n"
        "limits group suite1.2 suite1.3\n"
        %% Erlang has no tickets in TLS 1.2. In TLS 1.3 its client does not send psk_key_exchange_modes until
        %% it has a session, so it gets none; its server fails when a returning client lists a signature
        %% scheme that it does not support.
        "as-client resume-1.2-id\n"
        "as-server resume-1.2-id\n"
        "resumes 1.2\ngives 1.2\n").

serve(Options) ->
    Settings = shared(Options) ++ client_auth(Options),
    Local = [{ip, {127, 0, 0, 1}}, {reuseaddr, true}, {active, false}, {nodelay, true}, binary],
    {ok, Listener} = gen_tcp:listen(number("port", Options), Local),
    serve_next(Listener, Settings).

serve_next(Listener, Settings) ->
    {ok, Socket} = gen_tcp:accept(Listener),
    case ssl:handshake(Socket, Settings, 15000) of
        {ok, Tls} ->
            tell(Tls),
            echo(Tls),
            ssl:close(Tls);
        {error, Reason} ->
            complain(Reason)
    end,
    gen_tcp:close(Socket),
    serve_next(Listener, Settings).

%% The time limit is needed because Erlang sometimes does not notice that a TLS 1.3 client has closed.
echo(Tls) ->
    case ssl:recv(Tls, 0, 5000) of
        {ok, Data} -> ok = ssl:send(Tls, Data), echo(Tls);
        {error, _} -> ok
    end.

client_auth(#{"client-ca" := File}) ->
    [{verify, verify_peer}, {fail_if_no_peer_cert, true}, {cacertfile, File}];
client_auth(_) ->
    [{verify, verify_none}].

connect(Options) ->
    [say_and_hear(Options) || _ <- lists:seq(2, number("connections", Options))],
    carry(Options).

%% Makes a connection whose session the next one resumes. The echo of a line proves that tickets have arrived.
say_and_hear(Options) ->
    Tls = connected(Options),
    ok = ssl:send(Tls, ?WORDS),
    {ok, Heard} = ssl:recv(Tls, byte_size(?WORDS), 15000),
    out(Heard),
    ok = ssl:close(Tls),
    %% Another Erlang process stores the sessions.
    timer:sleep(20).

connected(Options = #{"name" := Name, "ca" := Roots}) ->
    Check = case Name of
        "127.0.0.1" -> [];
        _ -> [{server_name_indication, Name}]
    end,
    Settings = shared(Options) ++ Check ++ [{verify, verify_peer}, {cacertfile, Roots}],
    Address = case Name of
        "127.0.0.1" -> {127, 0, 0, 1};
        _ -> "localhost"
    end,
    case ssl:connect(Address, number("port", Options), [inet | Settings], 15000) of
        {ok, Tls} -> tell(Tls), Tls;
        {error, Reason} -> throw(Reason)
    end.

carry(Options) ->
    Tls = connected(Options),
    ok = ssl:setopts(Tls, [{active, true}]),
    Input = open_port({fd, 0, 1}, [in, binary, eof, stream]),
    carry(Tls, Input).

carry(Tls, Input) ->
    receive
        {ssl, _, Data} -> out(Data), carry(Tls, Input);
        {ssl_closed, _} -> throw(the_server_ended_first);
        {ssl_error, _, Reason} -> throw(Reason);
        {Input, {data, Data}} -> ok = ssl:send(Tls, Data), carry(Tls, Input);
        {Input, eof} -> ssl:close(Tls)
    end.

tell(Tls) ->
    Items = [protocol, session_id, session_resumption],
    {ok, Information} = ssl:connection_information(Tls, Items),
    #{protocol := Version, session_id := Id, session_resumption := Told} = maps:from_list(Information),
    %% A TLS 1.2 client does not report a resumption, but a resumed session has the same session ID.
    Resumed = case Version of
        'tlsv1.2' -> put({session, Id}, known) =:= known;
        _ -> Told
    end,
    io:put_chars(standard_error, ["resumed ", case Resumed of true -> "yes"; _ -> "no" end, "\n"]).

shared(Options) ->
    lists:append([setting(Name, Value) || {Name, Value} <- maps:to_list(Options)])
        ++ versions(Options) ++ groups(Options) ++ [{mode, binary}, {active, false}, {nodelay, true}].

versions(#{"version" := "1.2"}) -> [{versions, ['tlsv1.2']}];
versions(#{"version" := "1.3"}) -> [{versions, ['tlsv1.3']}];
versions(#{"suite" := Suite}) ->
    case string:find(Suite, "_WITH_") of
        nomatch -> [{versions, ['tlsv1.3']}];
        _ -> [{versions, ['tlsv1.2']}]
    end;
versions(_) -> [{versions, ['tlsv1.3', 'tlsv1.2']}].

setting("cert", File) -> [{certfile, File}];
setting("key", File) -> [{keyfile, File}];
setting("suite", Name) -> [{ciphers, [ssl:str_to_suite(Name)]}];
setting(_, _) -> [].

%% The option for TLS 1.3 groups differs from the one for TLS 1.2.
groups(Options = #{"group" := Name}) ->
    Option = case versions(Options) of
        [{versions, ['tlsv1.2']}] -> eccs;
        _ -> supported_groups
    end,
    [{Option, [list_to_atom(Name)]}];
groups(_) -> [].

number(Name, Options) -> list_to_integer(maps:get(Name, Options, "1")).

out(Bytes) -> ok = file:write_file("/dev/stdout", Bytes, [append, raw]).

complain(Reason) -> io:format(standard_error, "~0p~n", [Reason]).

fail(Reason) ->
    complain(Reason),
    halt(1, [{flush, true}]).

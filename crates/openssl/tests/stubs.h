/* Each function and command of libssl that does less than OpenSSL's, by subject, with the reason. The kinds of rows:

   REFUSED   fails for a value, which would not be enforced, and an entry in the queue names the function; with
             arguments that set nothing, such as NULL or 0, it succeeds
   FAILING   fails always, with such an entry
   IGNORED   succeeds without effect: a connection is the same or stricter without it
   ABSENT    reports that there is nothing, as OpenSSL's does on a new object
   PARTLY    has the result of OpenSSL's on a new object; the last column says what differs afterwards
   OTHER     has another result than OpenSSL's; the last column says which one

   The columns are: the function; its arguments; in REFUSED the arguments that set nothing; OpenSSL's result on a new
   object, and the reason of its newest error; in REFUSED, FAILING and OTHER the same here (the reason only in OTHER);
   and of 52 programs those that import the function, with what they do with its result. The openssl program has the
   options with which it calls a function that fails. Functions without a result have rows with _VOID. METHOD, OPTION
   and MODE are rows of which only the name differs. The arguments name the owner: what is `copied` or `kept` remains
   the application's, what is `passed` is the library's if the function succeeds, and a result that is `made` is the
   application's.

   same/stubs.c calls each row on both libraries. stubs.rs compares the rows with the sources, and makes a section of
   docs/openssl.md from them. */

SUBJECT("SRP", "no suite of this library uses it. A client that sets a name or a password does not connect")
REFUSED(SSL_CTX_set_srp_username, (ctx, copied("name")), (ctx, NULL), 1, NONE, 0,
        "curl does not connect; openssl s_client -srpuser ends")
FAILING(SSL_CTX_set_srp_password, (ctx, copied("password")), 1, NONE, 0, "curl does not connect")
REFUSED(SSL_CTX_set_srp_username_callback, (ctx, some), (ctx, NULL), 1, NONE, 0,
        "Apache, openssl s_server -srpvfile ignore the result")
REFUSED(SSL_CTX_set_srp_verify_param_callback, (ctx, some), (ctx, NULL), 1, NONE, 0,
        "openssl s_client -srp_lateuser ignores the result")
REFUSED(SSL_CTX_set_srp_client_pwd_callback, (ctx, some), (ctx, NULL), 1, NONE, 0,
        "openssl s_client -srp_lateuser ignores the result")
REFUSED(SSL_CTX_callback_ctrl, (ctx, SSL_CTRL_SET_TLS_EXT_SRP_USERNAME_CB, callback),
        (ctx, SSL_CTRL_SET_TLS_EXT_SRP_USERNAME_CB, NULL), 1, NONE, 0, "none")
REFUSED(SSL_CTX_callback_ctrl, (ctx, SSL_CTRL_SET_SRP_VERIFY_PARAM_CB, callback),
        (ctx, SSL_CTRL_SET_SRP_VERIFY_PARAM_CB, NULL), 1, NONE, 0, "none")
REFUSED(SSL_CTX_callback_ctrl, (ctx, SSL_CTRL_SET_SRP_GIVE_CLIENT_PWD_CB, callback),
        (ctx, SSL_CTRL_SET_SRP_GIVE_CLIENT_PWD_CB, NULL), 1, NONE, 0, "none")
REFUSED(SSL_CTX_ctrl, (ctx, SSL_CTRL_SET_TLS_EXT_SRP_USERNAME, 0, copied("name")),
        (ctx, SSL_CTRL_SET_TLS_EXT_SRP_USERNAME, 0, NULL), 1, NONE, 0, "none")
FAILING(SSL_CTX_ctrl, (ctx, SSL_CTRL_SET_TLS_EXT_SRP_PASSWORD, 0, copied("password")), 1, NONE, 0, "none")
FAILING(SSL_set_srp_server_param, (ssl, number, number, number, number, NULL), 1, NONE, 0,
        "Apache, openssl s_server -srpvfile call it in a callback that is refused")
FAILING(SSL_set_srp_server_param_pw, (ssl, "name", "password", "2048"), 1, NONE, 0, "none")
FAILING(SSL_srp_server_param_with_username, (ssl, place), SSL3_AL_FATAL, NONE, SSL3_AL_FATAL, "none")
FAILING(SRP_Calc_A_param, (ssl), 0, NONE, 0, "none")
IGNORED(SSL_CTX_set_srp_cb_arg, (ctx, some), 1, NONE, "Apache, openssl")
IGNORED(SSL_CTX_set_srp_strength, (ctx, 2048), 1, NONE, "openssl")
IGNORED(SSL_CTX_ctrl, (ctx, SSL_CTRL_SET_TLS_EXT_SRP_STRENGTH, 2048, NULL), 1, NONE, "none")
IGNORED(SSL_CTX_SRP_CTX_init, (ctx), 1, NONE, "none")
IGNORED(SSL_CTX_SRP_CTX_free, (ctx), 1, NONE, "none")
IGNORED(SSL_SRP_CTX_init, (ssl), 1, NONE, "none")
IGNORED(SSL_SRP_CTX_free, (ssl), 1, NONE, "none")
ABSENT(SSL_get_srp_N, (ssl), 0, NONE, "openssl")
ABSENT(SSL_get_srp_g, (ssl), 0, NONE, "openssl")
ABSENT(SSL_get_srp_username, (ssl), 0, NONE, "Apache, openssl show no name")
ABSENT(SSL_get_srp_userinfo, (ssl), 0, NONE, "Apache shows no information")

SUBJECT("external PSK", "not used. A client that sets one and verifies no certificates does not connect. A server's "
                        "clients need another suite, or its certificate")
REFUSED(SSL_CTX_use_psk_identity_hint, (ctx, copied("hint")), (ctx, NULL), 1, NONE, 0,
        "mosquitto does not start; openssl s_server -psk_hint ends")
REFUSED(SSL_use_psk_identity_hint, (ssl, copied("hint")), (ssl, NULL), 1, NONE, 0, "Node reports an error")
PARTLY_VOID(SSL_CTX_set_psk_client_callback, (ctx, some),
            "stunnel, mosquitto, Net::SSLeay, nghttpx, FreeRADIUS, openssl",
            "called for clients that do not verify certificates, which fail if it returns a key, such as openssl "
            "s_client -psk")
PARTLY_VOID(SSL_set_psk_client_callback, (ssl, some), "Node, Net::SSLeay", "likewise")
PARTLY_VOID(SSL_CTX_set_psk_use_session_callback, (ctx, some), "openssl", "likewise")
PARTLY_VOID(SSL_set_psk_use_session_callback, (ssl, some), "none", "likewise")
IGNORED_VOID(SSL_CTX_set_psk_server_callback, (ctx, some), "stunnel, mosquitto, nghttpx, FreeRADIUS, openssl")
IGNORED_VOID(SSL_set_psk_server_callback, (ssl, some), "Node")
IGNORED_VOID(SSL_CTX_set_psk_find_session_callback, (ctx, some), "openssl")
IGNORED_VOID(SSL_set_psk_find_session_callback, (ssl, some), "none")
ABSENT(SSL_get_psk_identity, (ssl), 0, NONE, "FreeRADIUS finds no name")
ABSENT(SSL_get_psk_identity_hint, (ssl), 0, NONE, "none")

SUBJECT("NPN", "ALPN has replaced it")
IGNORED_VOID(SSL_CTX_set_next_protos_advertised_cb, (ctx, some, NULL),
             "HAProxy, Ruby, Net::SSLeay, BIND, gRPC, Traffic Server, nghttpx, hitch, tcnative, openssl")
IGNORED_VOID(SSL_CTX_set_next_proto_select_cb, (ctx, some, NULL),
             "HAProxy, Ruby, Net::SSLeay, BIND, gRPC, squid, nghttpx, tcnative, dnsdist, openssl")
ABSENT_VOID(SSL_get0_next_proto_negotiated, (ssl, place, &count),
            "HAProxy, Ruby, Net::SSLeay, BIND, gRPC, Traffic Server, nghttpx, hitch, tcnative, dnsdist, openssl")

SUBJECT("Diffie-Hellman parameters", "no suite of this library uses them")
IGNORED(SSL_CTX_set_tmp_dh, (ctx, kept(DH_get_2048_256(), free_dh)), 1, NONE, "11 programs end if it fails")
IGNORED(SSL_set_tmp_dh, (ssl, kept(DH_get_2048_256(), free_dh)), 1, NONE, "none")
IGNORED(SSL_CTX_set_dh_auto, (ctx, 1), 1, NONE, "6 programs")
IGNORED(SSL_set_dh_auto, (ssl, 1), 1, NONE, "none")
PARTLY(SSL_CTX_set0_tmp_dh_pkey, (ctx, passed(new_parameters(), free_key)), 1, NONE,
       "HAProxy, Redis, Apache, Postfix, PHP, Ruby, BIND, nghttpx, OpenVPN, openssl end if it fails", "keeps them")
PARTLY(SSL_set0_tmp_dh_pkey, (ssl, passed(new_parameters(), free_key)), 1, NONE, "none", "keeps them")
IGNORED_VOID(SSL_CTX_set_tmp_dh_callback, (ctx, some), "Dovecot, Ruby, Net::SSLeay, pgbouncer, tcnative, LuaSec")
IGNORED_VOID(SSL_set_tmp_dh_callback, (ssl, some), "Net::SSLeay")
IGNORED(SSL_CTX_callback_ctrl, (ctx, SSL_CTRL_SET_TMP_DH_CB, callback), 1, NONE, "none")
IGNORED(SSL_callback_ctrl, (ssl, SSL_CTRL_SET_TMP_DH_CB, callback), 1, NONE, "none")

SUBJECT("compression", "there are no methods")
PARTLY(SSL_COMP_set0_compression_methods, (made(passed(sk_SSL_COMP_new_null(), free_list), free_list)), SOME, NONE,
       "stunnel", "keeps the list")
PARTLY(SSL_COMP_get_compression_methods, (), SOME, NONE,
       "Apache, stunnel, Node, unbound, socat, sendmail, kamailio empty the list",
       "returns that list, which is empty at first")
ABSENT(SSL_COMP_add_compression_method, (200, NULL), 1, NONE, "stunnel, Net::SSLeay: 1 is its failure")
ABSENT(SSL_COMP_get_name, (NULL), 0, NONE, "stunnel, Dovecot, socat, LuaSec, openssl")
ABSENT(SSL_COMP_get0_name, (zeros), 0, NONE, "stunnel")
ABSENT(SSL_COMP_get_id, (zeros), 0, NONE, "stunnel")
ABSENT(SSL_get_current_compression, (ssl), 0, NONE, "libpq, Python, stunnel, Dovecot, socat, LuaSec, openssl")
ABSENT(SSL_get_current_expansion, (ssl), 0, NONE, "stunnel, socat, openssl")
ABSENT(SSL_SESSION_get_compress_id, (session), 0, NONE, "Apache")
OPTION(SSL_OP_NO_COMPRESSION, "most programs")

SUBJECT("renegotiation", "there is none")
FAILING(SSL_renegotiate, (ssl), 1, NONE, 0,
        "Apache closes the connection; Node, Net::SSLeay, libevent, tcnative, openssl s_client with the command R "
        "report an error")
FAILING(SSL_renegotiate_abbreviated, (ssl), 1, NONE, 0, "none")
ABSENT(SSL_renegotiate_pending, (ssl), 0, NONE, "HAProxy, Node, tcnative")
ABSENT(SSL_num_renegotiations, (ssl), 0, NONE, "none")
ABSENT(SSL_clear_num_renegotiations, (ssl), 0, NONE, "none")
ABSENT(SSL_total_renegotiations, (ssl), 0, NONE, "none")
ABSENT(SSL_CTX_sess_connect_renegotiate, (ctx), 0, NONE, "counters: 4 programs")
IGNORED(BIO_set_ssl_renegotiate_bytes, (filter, 1024), 0, NONE, "none")
IGNORED(BIO_set_ssl_renegotiate_timeout, (filter, 60), 0, NONE, "none")
ABSENT(BIO_get_num_renegotiates, (filter), 0, NONE, "none")
ABSENT(SSL_CTX_sess_accept_renegotiate, (ctx), 0, NONE, "counters: 4 programs")
OPTION(SSL_OP_NO_RENEGOTIATION, "nginx and others")
OPTION(SSL_OP_ALLOW_CLIENT_RENEGOTIATION, "Apache and others")
OPTION(SSL_OP_NO_SESSION_RESUMPTION_ON_RENEGOTIATION, "Apache and others")

SUBJECT("DTLS", "its handshakes fail, so no cookie and no timer is needed")
FAILING(SSL_stateless, (ssl), -1, SSL_R_READ_BIO_NOT_SET, -1, "openssl s_server -stateless refuses clients")
FAILING(DTLSv1_listen, (ssl, place), -1, SSL_R_BIO_NOT_SET, -1, "openssl s_server -dtls -listen refuses clients")
FAILING(SSL_CTX_set_tlsext_use_srtp, (ctx, copied("SRTP_AES128_CM_SHA1_80")), 0, NONE, 1,
        "openssl s_client -use_srtp, openssl s_server -use_srtp end")
FAILING(SSL_set_tlsext_use_srtp, (ssl, copied("SRTP_AES128_CM_SHA1_80")), 0, NONE, 1, "none")
IGNORED_VOID(SSL_CTX_set_cookie_generate_cb, (ctx, some), "openssl")
IGNORED_VOID(SSL_CTX_set_cookie_verify_cb, (ctx, some), "openssl")
IGNORED_VOID(SSL_CTX_set_stateless_cookie_generate_cb, (ctx, some), "openssl")
IGNORED_VOID(SSL_CTX_set_stateless_cookie_verify_cb, (ctx, some), "openssl")
IGNORED_VOID(DTLS_set_timer_cb, (dtls, some), "none")
ABSENT(DTLS_get_data_mtu, (dtls), 0, NONE, "none")
ABSENT(SSL_get_srtp_profiles, (ssl), 0, NONE, "none")
ABSENT(SSL_get_selected_srtp_profile, (ssl), 0, NONE, "openssl shows none")
ABSENT(SSL_client_hello_isv2, (ssl), 0, NONE, "none")
OPTION(SSL_OP_NO_QUERY_MTU, "openssl")
OPTION(SSL_OP_COOKIE_EXCHANGE, "openssl")

SUBJECT("TLS 1.1 and older, DTLS", "their methods make contexts, whose handshakes fail")
OPTION(SSL_OP_NO_SSLv3, "most programs")
OPTION(SSL_OP_NO_TLSv1, "most programs")
OPTION(SSL_OP_NO_TLSv1_1, "most programs")
OPTION(SSL_OP_NO_DTLSv1, "none")
METHOD(TLSv1_method, "Python, Net::SSLeay")
METHOD(TLSv1_client_method, "Net::SSLeay")
METHOD(TLSv1_server_method, "Net::SSLeay")
METHOD(TLSv1_1_method, "Python, Net::SSLeay")
METHOD(TLSv1_1_client_method, "Net::SSLeay")
METHOD(TLSv1_1_server_method, "Net::SSLeay")
METHOD(DTLS_method, "none")
METHOD(DTLS_client_method, "socat, openssl")
METHOD(DTLS_server_method, "socat, openssl")
METHOD(DTLSv1_method, "none")
METHOD(DTLSv1_client_method, "none")
METHOD(DTLSv1_server_method, "none")
METHOD(DTLSv1_2_method, "none")
METHOD(DTLSv1_2_client_method, "none")
METHOD(DTLSv1_2_server_method, "none")

SUBJECT("asynchronous jobs and pipelines", "OpenSSL uses them only with an engine")
IGNORED(SSL_CTX_set_async_callback, (ctx, some), 1, NONE, "none")
IGNORED(SSL_set_async_callback, (ssl, some), 1, NONE, "none")
IGNORED(SSL_CTX_set_async_callback_arg, (ctx, some), 1, NONE, "none")
IGNORED(SSL_set_async_callback_arg, (ssl, some), 1, NONE, "none")
IGNORED(SSL_CTX_set_max_pipelines, (ctx, 2), 1, NONE, "openssl")
IGNORED(SSL_set_max_pipelines, (ssl, 2), 1, NONE, "none")
IGNORED(SSL_CTX_set_split_send_fragment, (ctx, 512), 1, NONE, "openssl")
IGNORED(SSL_set_split_send_fragment, (ssl, 512), 1, NONE, "none")
ABSENT(SSL_waiting_for_async, (ssl), 0, NONE, "HAProxy, openssl")
PARTLY(SSL_get_async_status, (ssl, place), 0, NONE, "none", "reports that there is no job")
ABSENT(SSL_get_all_async_fds, (ssl, NULL, &size), 0, NONE, "HAProxy, Traffic Server, openssl find none")
ABSENT(SSL_get_changed_async_fds, (ssl, NULL, &size, NULL, &size), 0, NONE, "HAProxy finds none")
MODE(SSL_MODE_ASYNC, "HAProxy, openssl")

SUBJECT("certificate transparency", "not checked; the logs that are loaded are not used")
FAILING(SSL_CTX_enable_ct, (ctx, SSL_CT_VALIDATION_PERMISSIVE), 1, NONE, 0, "openssl s_client -ct ends")
FAILING(SSL_enable_ct, (ssl, SSL_CT_VALIDATION_STRICT), 1, NONE, 0, "none")
REFUSED(SSL_CTX_set_ct_validation_callback, (ctx, some, NULL), (ctx, NULL, NULL), 1, NONE, 0, "none")
REFUSED(SSL_set_ct_validation_callback, (ssl, some, NULL), (ssl, NULL, NULL), 1, NONE, 0, "none")
PARTLY_VOID(SSL_CTX_set0_ctlog_store, (ctx, passed(CTLOG_STORE_new(), free_logs)), "none", "keeps the logs")
PARTLY(SSL_CTX_get0_ctlog_store, (ctx), SOME, NONE, "openssl", "returns those logs")
PARTLY(SSL_CTX_set_ctlog_list_file, (ctx, copied("/no/file")), 0, CT_R_LOG_CONF_INVALID, "openssl", "loads logs")
PARTLY(SSL_CTX_set_default_ctlog_list_file, (ctx), 0, CT_R_LOG_CONF_INVALID, "openssl", "loads logs")
ABSENT(SSL_CTX_ct_is_enabled, (ctx), 0, NONE, "none")
ABSENT(SSL_ct_is_enabled, (ssl), 0, NONE, "openssl")
ABSENT(SSL_get0_peer_scts, (ssl), 0, NONE, "openssl shows none")

SUBJECT("custom extensions", "not supported yet")
FAILING(SSL_CTX_add_client_custom_ext, (ctx, 1000, NULL, NULL, NULL, NULL, NULL), 1, NONE, 0,
        "openssl s_client -serverinfo warns")
FAILING(SSL_CTX_add_server_custom_ext, (ctx, 1000, NULL, NULL, NULL, NULL, NULL), 1, NONE, 0,
        "HAProxy reports an error")
FAILING(SSL_CTX_add_custom_ext, (ctx, 1000, 128, NULL, NULL, NULL, NULL, NULL), 1, NONE, 0, "nghttpx with SCTs ends")
FAILING(SSL_CTX_use_serverinfo, (ctx, copied(""), 0), 0, ERR_R_PASSED_NULL_PARAMETER, 0, "none")
FAILING(SSL_CTX_use_serverinfo_ex, (ctx, 2, copied(""), 0), 0, ERR_R_PASSED_NULL_PARAMETER, 0, "none")
FAILING(SSL_CTX_use_serverinfo_file, (ctx, copied("/no/file")), 0, ERR_R_SYS_LIB, 0,
        "openssl s_server -serverinfo ends")
ABSENT(SSL_CTX_has_client_custom_ext, (ctx, 1000), 0, NONE, "none")

SUBJECT("session IDs of the application", "the library makes them")
REFUSED(SSL_CTX_set_generate_session_id, (ctx, some), (ctx, NULL), 1, NONE, 0, "openssl s_server -id_prefix ends")
REFUSED(SSL_set_generate_session_id, (ssl, some), (ssl, NULL), 1, NONE, 0, "none")
ABSENT(SSL_has_matching_session_id, (ssl, copied("id"), 2), 0, NONE, "openssl calls it in that callback")

SUBJECT("maximum fragment length (RFC 6066 section 4)", "not negotiated")
REFUSED(SSL_CTX_set_tlsext_max_fragment_length, (ctx, TLSEXT_max_fragment_length_512), (ctx, 0), 1, NONE, 0,
        "openssl s_client -maxfraglen ends")
REFUSED(SSL_set_tlsext_max_fragment_length, (ssl, TLSEXT_max_fragment_length_4096), (ssl, 0), 1, NONE, 0, "none")
ABSENT(SSL_SESSION_get_max_fragment_length, (session), 0, NONE, "none")

SUBJECT("EAP-FAST", "sessions and tickets of the application's own are not used")
REFUSED(SSL_set_session_secret_cb, (ssl, some, NULL), (ssl, NULL, NULL), 1, NONE, 0,
        "hostapd, FreeRADIUS do not use EAP-FAST")
REFUSED(SSL_set_session_ticket_ext_cb, (ssl, some, NULL), (ssl, NULL, NULL), 1, NONE, 0,
        "FreeRADIUS does not use EAP-FAST; hostapd ignores the result")
FAILING(SSL_set_session_ticket_ext, (ssl, copied("ticket"), 6), 1, NONE, 0, "hostapd does not use EAP-FAST")

SUBJECT("secrets and tickets of sessions", "not shown")
FAILING(SSL_SESSION_set1_master_key, (session, copied("secret"), 6), 1, NONE, 0,
        "openssl s_client -psk, openssl s_server -psk call it in callbacks that are not called")
ABSENT(SSL_SESSION_get_master_key, (session, NULL, 0), 0, NONE,
       "HAProxy, Net::SSLeay, hostapd, FreeRADIUS find no secret")
ABSENT_VOID(SSL_SESSION_get0_ticket, (session, place, &size), "Node finds none")
ABSENT(SSL_SESSION_print_keylog, (memory, session), 0, NONE, "openssl prints no secrets")
PARTLY(SSL_SESSION_print, (memory, session), 1, NONE, "ab, Ruby, Net::SSLeay, openssl", "prints no secret")
PARTLY(SSL_SESSION_print_fp, (stream, session), 1, NONE, "Net::SSLeay", "prints no secret")
FAILING(SSL_export_keying_material_early, (ssl, room, 1, "label", 5, NULL, 0), 0, NONE, 0, "none")

PARTLY(SSL_SESSION_set_protocol_version, (session, TLS1_2_VERSION), 1, NONE, "openssl",
       "has no effect on resumption, which uses the version of the handshake")
PARTLY(SSL_SESSION_set_cipher, (session, SSL_CIPHER_find(ssl, copied("\x13\1"))), 1, NONE, "openssl", "likewise")
PARTLY(SSL_SESSION_set1_hostname, (session, copied("name")), 1, NONE, "none", "likewise")
PARTLY(SSL_SESSION_set1_alpn_selected, (session, copied("h2"), 2), 1, NONE, "none", "likewise")

SUBJECT("engines", "not supported")
FAILING(SSL_CTX_set_client_cert_engine, (ctx, NULL), 0, ERR_R_ENGINE_LIB, 0,
        "stunnel reports it and uses files; Node reports an error; openssl s_client -ssl_client_engine ends")

SUBJECT("padding of records by a callback", "connections with one fail, as do blocks of more than 4096 bytes")
REFUSED(SSL_set_record_padding_callback, (ssl, some), (ssl, NULL), 1, NONE, 0, "none")
REFUSED(SSL_CTX_set_block_padding, (ctx, 4097), (ctx, 0), 1, NONE, 0,
        "openssl s_client -record_padding, openssl s_server -record_padding end")
REFUSED(SSL_set_block_padding, (ssl, 4097), (ssl, 0), 1, NONE, 0, "none")
PARTLY_VOID(SSL_CTX_set_record_padding_callback, (ctx, some), "none", "makes connections fail")
IGNORED_VOID(SSL_CTX_set_record_padding_callback_arg, (ctx, some), "none")
IGNORED_VOID(SSL_set_record_padding_callback_arg, (ssl, some), "none")
ABSENT(SSL_CTX_get_record_padding_callback_arg, (ctx), 0, NONE, "none")
ABSENT(SSL_get_record_padding_callback_arg, (ssl), 0, NONE, "none")

SUBJECT("status requests", "name no responders and have no extensions")
REFUSED(SSL_set_tlsext_status_ids, (ssl, passed(sk_OCSP_RESPID_new_null(), free_list)), (ssl, NULL), 1,
        NONE, 0, "none")
REFUSED(SSL_set_tlsext_status_exts, (ssl, passed(sk_X509_EXTENSION_new_null(), free_list)), (ssl, NULL), 1,
        NONE, 0, "none")
ABSENT(SSL_get_tlsext_status_ids, (ssl, place), 1, NONE, "none")
ABSENT(SSL_get_tlsext_status_exts, (ssl, place), 1, NONE, "none")

SUBJECT("requests for certificates", "have all types of certificates that can be verified")
REFUSED(SSL_CTX_set1_client_certificate_types, (ctx, copied("\1"), 1), (ctx, NULL, 0), 1, NONE, 0, "none")
REFUSED(SSL_set1_client_certificate_types, (ssl, copied("\1"), 1), (ssl, NULL, 0), 1, NONE, 0, "none")
ABSENT(SSL_get0_certificate_types, (ssl, place), 0, NONE, "openssl shows none")
OTHER(SSL_check_chain, (ssl, certificate, key, NULL), 1760, NONE, 0, NONE, "openssl",
      "no certificate fits, so that openssl s_client -xcert uses none and openssl s_server -xcert refuses clients")
PARTLY_VOID(SSL_CTX_set0_CA_list, (ctx, passed(sk_X509_NAME_new_null(), free_list)), "openssl",
            "has no effect for a client")
PARTLY_VOID(SSL_set0_CA_list, (ssl, passed(sk_X509_NAME_new_null(), free_list)), "none", "likewise")

OTHER(SSL_CTX_get_client_CA_list, (ctx), SOME, NONE, 0, NONE,
      "nginx, HAProxy, Apache, Node, Net::SSLeay, tcnative, kamailio",
      "returns NULL for an empty list")
OTHER(SSL_CTX_get0_CA_list, (ctx), SOME, NONE, 0, NONE, "none", "likewise")
OTHER(SSL_get_client_CA_list, (ssl), SOME, NONE, 0, NONE, "Apache, stunnel, Ruby, Net::SSLeay, neon", "likewise")
OTHER(SSL_get0_CA_list, (ssl), SOME, NONE, 0, NONE, "none", "likewise")
OTHER(SSL_CTX_set_cert_flags, (ctx, SSL_CERT_FLAG_TLS_STRICT), 1, NONE, 0, NONE, "none",
      "has as its result the flags that are set, which are those of Suite B; openssl s_client -strict, "
      "openssl s_server -strict end")
OTHER(SSL_set_cert_flags, (ssl, SSL_CERT_FLAG_TLS_STRICT), 1, NONE, 0, NONE, "none", "likewise")

SUBJECT("what the peer sent", "not kept")
ABSENT(SSL_get_sigalgs, (ssl, 0, NULL, NULL, NULL, NULL, NULL), 0, NONE, "nghttpx, openssl show none")
ABSENT(SSL_get_shared_sigalgs, (ssl, 0, NULL, NULL, NULL, NULL, NULL), 0, NONE, "Node, openssl show none")
ABSENT(SSL_get_client_ciphers, (ssl), 0, NONE, "FreeRADIUS shows none")
OTHER(SSL_get_peer_tmp_key, (ssl, place), 0, NONE, 0, NONE, "5 programs show none", "sets the pointer to NULL")
OTHER(SSL_get_tmp_key, (ssl, place), 0, NONE, 0, NONE, "none", "sets the pointer to NULL")
ABSENT(SSL_get0_ec_point_formats, (ssl, place), 0, NONE, "openssl shows none")
PARTLY(SSL_get_shared_ciphers, (ssl, text, 100), 0, NONE, "Net::SSLeay, rsyslog, hostapd, openssl",
       "names the suite that is used")
FAILING(SSL_bytes_to_cipher_list, (ssl, copied(""), 0, 0, place, place), 0, SSL_R_NO_CIPHERS_SPECIFIED,
        0, "none")

SUBJECT("tracing", "only shows what happens")
IGNORED_VOID(SSL_trace, (0, 0, 22, room, 0, ssl, memory), "Node, openssl")
IGNORED_VOID(SSL_set_debug, (ssl, 1), "none")
IGNORED(SSL_set_tlsext_debug_callback, (ssl, some), 1, NONE, "openssl, hostapd")
IGNORED(SSL_set_tlsext_debug_arg, (ssl, some), 1, NONE, "openssl, hostapd")
PARTLY(SSL_rstate_string, (ssl)[0], 'R', NONE, "Net::SSLeay", "is always the first state")
PARTLY(SSL_rstate_string_long, (ssl)[0], 'r', NONE, "Net::SSLeay", "is always the first state")

SUBJECT("buffers, and the kernel's TLS", "hints for speed")
IGNORED(SSL_alloc_buffers, (ssl), 1, NONE, "none")
IGNORED_VOID(SSL_CTX_set_default_read_buffer_len, (ctx, 1 << 16), "openssl")
IGNORED_VOID(SSL_set_default_read_buffer_len, (ssl, 1 << 16), "none")
FAILING(SSL_sendfile, (ssl, 0, 0, 1, 0), -1, SSL_R_UNINITIALIZED, -1,
        "nginx, lighttpd, openssl s_server -sendfile call it with kernel TLS only")
OPTION(SSL_OP_ENABLE_KTLS, "nginx, lighttpd, openssl")

SUBJECT("what is less safe", "not permitted")
OPTION(SSL_OP_NO_EXTENDED_MASTER_SECRET, "none")
OPTION(SSL_OP_ALLOW_NO_DHE_KEX, "openssl")

SUBJECT("faults of old peers", "peers with TLS 1.2 and AEAD suites do not have them")
OPTION(SSL_OP_TLSEXT_PADDING, "many programs, by SSL_OP_ALL")
OPTION(SSL_OP_SAFARI_ECDHE_ECDSA_BUG, "Apache and others")
OPTION(SSL_OP_DONT_INSERT_EMPTY_FRAGMENTS, "many programs, by SSL_OP_ALL")
OPTION(SSL_OP_CISCO_ANYCONNECT, "none")
OPTION(SSL_OP_NO_ENCRYPT_THEN_MAC, "none")
OPTION(SSL_OP_TLS_ROLLBACK_BUG, "none")
OPTION(SSL_OP_CRYPTOPRO_TLSEXT_BUG, "many programs, by SSL_OP_ALL")
MODE(SSL_MODE_DTLS_SCTP_LABEL_LENGTH_BUG, "none")
MODE(SSL_MODE_SEND_CLIENTHELLO_TIME, "none")
MODE(SSL_MODE_SEND_SERVERHELLO_TIME, "none")

SUBJECT("library contexts", "an application's own are not used")
PARTLY(SSL_CTX_new_ex, (made(NULL, free_ctx), NULL, TLS_method()), SOME, NONE, "stunnel, OpenVPN, openssl",
       "fails with a library context, and with properties that exclude the default provider")
PARTLY(SSL_load_client_CA_file_ex, (made(material("server.pem"), free_names), NULL, NULL), SOME, NONE, "none",
       "ignores them")

SUBJECT("other functions", "not supported yet, or of no use without OpenSSL's own structures")
FAILING(SSL_dup, (made(ssl, free_ssl)), SOME, NONE, 0, "Net::SSLeay returns it to its caller")
FAILING(BIO_dup_chain, (made(filter, free_bio)), SOME, NONE, 0, "none")
FAILING(SSL_new_session_ticket, (ssl), 0, NONE, 0, "none")
FAILING(SSL_add_store_cert_subjects_to_stack, (list, "file:/no/file"), 0, ENOENT, 0, "none")
IGNORED_VOID(SSL_add_ssl_module, (), "none")
PARTLY(SSL_CTX_sessions, (ctx), SOME, NONE, "Net::SSLeay returns it to its caller",
       "returns an empty table, another one for each context")
PARTLY(SSL_CIPHER_find, (ssl, copied("\377\377")), 0, NONE, "nginx, HAProxy, Node, squid, openssl",
       "finds the nine suites")
OTHER(SSL_client_version, (ssl), 0x10000, NONE, TLS1_2_VERSION, NONE, "none", "is not 0x10000 before the handshake")
OTHER(SSL_get0_dane, (ssl), SOME, NONE, 0, NONE, "none", "returns NULL")
OTHER(SSL_test_functions, (), SOME, NONE, 0, NONE, "none", "returns NULL")
